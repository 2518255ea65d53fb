/**
 * A rules file that is valid: the help of the verb shows it, and a test reads it. It is separate from the parser, so
 * that help loads no YAML reader.
 */
export const EXAMPLE_RULES = `rules:
  - id: mymodel.vision-encoder
    component: activation
    sub_component: vision_encoder
    at: { file: mymodel/vision/*.py, function: [forward, _encode*] }
    within: { function: forward_step }
    samples:
      - frames: [forward mymodel/vision/encoder.py, forward_step megatron/core/pipeline_parallel/schedules.py]
  - id: mymodel.rope-cache
    component: workspace
    sub_component: rope_cache
    at: { file: mymodel/rope.py }
    when: { lifetime: resident, min_bytes: 1048576 }
`;
