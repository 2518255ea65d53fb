"""Three steps, recorded from before the model is built, so that every block has its stack."""

from workloads import gpt_plan


def run(recorder):
    from gpt import build, train_step

    plan = gpt_plan(recorder.cap_bytes)
    recorder.note_config("model", plan)
    recorder.start_recording()
    model, optimizer = build(plan, recorder.seed)
    for number in range(1, 4):
        loss, norm, _ = train_step(model, optimizer, plan)
        recorder.iteration(number, 3, plan["batch"], loss, norm, optimizer.param_groups[0]["lr"])
    recorder.dump_snapshot()
