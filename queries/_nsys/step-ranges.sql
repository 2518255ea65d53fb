-- @name   _nsys.step_ranges
-- @title  NVTX ranges that may have to do with training steps
-- @param  source_id INTEGER
-- @col    lane     BIGINT   a thread of a process, or the start/end ranges of a process
-- @col    pid      INTEGER?
-- @col    type     ENUM
-- @col    name     VARCHAR  the text without additions of profilers
-- @col    template VARCHAR  the name with # for each number
-- @col    numbers  BIGINT[] of the name
-- @col    kind     VARCHAR  by the name: step, bare_step, optimizer, epoch, index (of a module), module, data, forward, phase, other
-- @col    start_ns BIGINT
-- @col    end_ns   BIGINT
-- @col    seq      INTEGER
-- @why    Lightning writes [pl][profile] before a text, and emit_nvtx the number of the operator behind it. Operators are left out, of
--         which there are thousands in a step, and NCCL's ranges. The names are those of Megatron, NeMo,
--         Lightning, DeepSpeed, torch.profiler, Hugging Face, and common texts of programs. An epoch only contains steps. A plain
--         "step" may be the optimizer's.
WITH domains AS (
  SELECT nvtx.pid, nvtx.domain, first(words.text ORDER BY nvtx.seq) AS name
  FROM nsys_nvtx AS nvtx JOIN nsys_text AS words ON words.source_id = nvtx.source_id AND words.text_id = nvtx.text_id
  WHERE nvtx.source_id = $source_id AND nvtx.type = 'domain' GROUP BY nvtx.pid, nvtx.domain),
names AS (
  SELECT text_id,
    trim(regexp_replace(regexp_replace(text, ', (seq|op_id|sizes|input_op_ids) = .*$', '', 's'), '^\[pl\]\[\w+\]', '')) AS name
  FROM nsys_text
  WHERE source_id = $source_id AND text_id IN (SELECT text_id FROM nsys_nvtx WHERE source_id = $source_id)
    AND NOT regexp_matches(text, '(?i)^(aten::|autograd::|c10d::|cuda|nccl)|, seq = \d|^\w+Backward\d*(,|$)|^\{')),
templates AS (SELECT DISTINCT name, regexp_replace(name, '\d+', '#', 'g') AS template FROM names WHERE name <> ''),
kinds AS (
  SELECT template, CASE
    WHEN regexp_matches(template, '(?i)zero[-_ ]?grad') THEN 'phase'
    WHEN regexp_matches(template, '(?i)^([\w.]+[:/ ])?(epoch[-_ :=]*#[-_ ,:/]*)?'
      || '((global|train(ing|er)?|outer|main|run|do|one|single|full)[-_ ]?)*(iter(ation)?|step|batch|ProfilerStep)s?[-_ :=#*]*'
      || '(#|\(#\)|\[#\])?([-_ ]*(/|of)[-_ ]*#)?$')
      AND NOT regexp_matches(template, '(?i)^(forward|fwd|backward|bwd|optim\w*|opt|adam\w*|sgd|lr|\w*scheduler|micro|eval\w*|valid\w*|val'
        || '|test\w*|infer\w*|predict\w*|generat\w*|decod\w*|sampl\w*|data\w*|load\w*)[:/. ]')
      THEN CASE WHEN regexp_matches(template, '(?i)^([\w.]+[:/ ])?step$') THEN 'bare_step' ELSE 'step' END
    WHEN NOT regexp_matches(template, '(?i)sched') AND regexp_matches(template, '(?i)^Optimizer\.step#'
      || '|(^|[^a-z])(optimizer|optim|opt|adamw?|sgd)([-_. :]*(step|update|apply)\b.*)?$|optimizer[-_. ]?step|step_optimizer'
      || '|(weights?|param(eter)?s?)[-_ ]?update|update[-_ ]?(weights?|param(eter)?s?)|apply[-_ ]?grad|\w\.step$') THEN 'optimizer'
    WHEN regexp_matches(template, '(?i)epoch') THEN 'epoch'
    WHEN regexp_matches(template, '(?i)(layers?|blocks?|modules?|experts?|(^|[^a-z])(stages?|heads?|buckets?|chunks?|h|conv|fc|linear'
      || '|encoder|decoder))[-_./ :\[(]*#|[a-z]\.#|[a-z_]\[#\]') THEN 'index'
    WHEN regexp_matches(template, '(?i)(layer|block|attention|attn|mlp|embeddings?|norm|linear|conv#?d?|relu|gelu|softmax|dropout|moe'
      || '|router)$') THEN 'module'
    WHEN regexp_matches(template, '(?i)(^|[^a-z])(data|dataloader|dataloading|loader|reader|fetch|prefetch|h#d|get[-_ ]?batch'
      || '|next[-_ ]?batch|load[-_ ]?batch|input|pre[-_ ]?process\w*)($|[^a-z])|data[-_ ]?load|load[-_ ]?data|train_dataloader') THEN 'data'
    WHEN regexp_matches(template, '(?i)(^|[^a-z])(forward|fwd)($|[^a-z])|forward$') THEN 'forward'
    WHEN regexp_matches(template, '(?i)backward|(^|[^a-z])(bwd|loss|grads?|clip\w*|all[-_ ]?reduce|sync\w*|scaler|eval\w*|valid\w*|log\w*'
      || '|save|checkpoint\w*|post[-_ ]?process\w*|sampl\w*|copy)($|[^a-z])') THEN 'phase'
    ELSE 'other' END AS kind
  FROM (SELECT DISTINCT template FROM templates))
SELECT dense_rank() OVER (ORDER BY nvtx.pid, nvtx.type, CASE WHEN nvtx.type = 'push_pop' THEN nvtx.tid END) AS lane, nvtx.pid, nvtx.type,
  name, template, list_transform(regexp_extract_all(name, '\d+'), lambda digits: TRY_CAST(digits AS BIGINT)) AS numbers, kind,
  nvtx.start_ns, nvtx.end_ns, nvtx.seq
FROM nsys_nvtx AS nvtx JOIN names USING (text_id) JOIN templates USING (name) JOIN kinds USING (template)
LEFT JOIN domains ON domains.pid IS NOT DISTINCT FROM nvtx.pid AND domains.domain = nvtx.domain
WHERE nvtx.source_id = $source_id AND nvtx.type IN ('push_pop', 'start_end') AND nvtx.end_ns IS NOT NULL
  AND coalesce(domains.name NOT ILIKE 'nccl%', true)
