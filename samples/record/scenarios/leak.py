"""A list that keeps the logits of every step."""

from workloads import leak_plan


def run(recorder):
    from gpt import build, train_step

    plan = leak_plan(recorder.cap_bytes)
    recorder.note_config("model", plan)
    recorder.start_recording()
    model, optimizer = build(plan, recorder.seed)
    history = []
    for number in range(1, plan["steps"] + 1):
        loss, norm, logits = train_step(model, optimizer, plan)
        history.append(logits)
        recorder.iteration(number, plan["steps"], plan["batch"], loss, norm, optimizer.param_groups[0]["lr"])
        del logits
    recorder.dump_snapshot()
