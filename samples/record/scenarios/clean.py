"""Six steps without a failure. Recording begins after the second: weights and states have no allocation entry."""

from workloads import gpt_plan


def run(recorder):
    from gpt import build, train_step

    plan = gpt_plan(recorder.cap_bytes)
    recorder.note_config("model", plan)
    model, optimizer = build(plan, recorder.seed)
    for number in range(1, 7):
        loss, norm, _ = train_step(model, optimizer, plan)
        recorder.iteration(number, 6, plan["batch"], loss, norm, optimizer.param_groups[0]["lr"])
        if number == 2:
            recorder.start_recording()
    recorder.dump_snapshot()
