/** The pipeline schedules: where micro-batches run, are received and sent. */
import type { CallPath } from '../code-line.js';
import { at, PACKAGES } from './sources.js';

export type ScheduleKind = 'single_stage' | 'one_forward_one_backward' | 'interleaved';

export interface ScheduleSites {
  /** Around the script's `forward_step`. */
  readonly forwardStep: CallPath;
  readonly receiveForward: CallPath;
  readonly receiveBackward: CallPath;
  /** What the main thread does while autograd's threads run backward: no part of a recorded stack, but of a traceback. */
  readonly backwardStep: CallPath;
  /** The one-element tensor that stands in for an output that has been sent. */
  readonly deallocateOutput: CallPath;
}

export function scheduleSites(core: string, kind: ScheduleKind, outer: CallPath): ScheduleSites {
  const file = `${core}pipeline_parallel/schedules.py`;
  const step = at('forward_step', file, 402, 'output_tensor, loss_func = forward_step_func(data_iterator, model)');
  const receive = (name: string, line: number, variable: string): CallPath => [
    at(name, `${core}pipeline_parallel/p2p_communication.py`, line, 'return torch.empty('),
    at(
      '_communicate',
      `${core}pipeline_parallel/p2p_communication.py`,
      line + 62,
      `${variable} = tensor_${variable}_func()`,
    ),
  ];
  const stub = (line: number, name: string): CallPath => [
    at('deallocate_output_tensor', file, 160, 'out.data = torch.empty((1,), device=out.device, dtype=out.dtype)'),
    at(name, file, line, 'deallocate_output_tensor(output_tensor, config.deallocate_pipeline_outputs)'),
    ...outer,
  ];
  const backward = (line: number, name: string): CallPath => [
    at('custom_backward', file, 187, 'Variable._execution_engine.run_backward('),
    at('backward_step', file, 488, 'custom_backward(output_tensor[0], output_tensor_grad[0])'),
    at(name, file, line, 'input_tensor_grad = backward_step('),
  ];
  if (kind === 'single_stage') {
    const name = 'forward_backward_no_pipelining';
    return {
      backwardStep: [
        at(
          '_engine_run_backward',
          `${PACKAGES}torch/autograd/graph.py`,
          829,
          'return Variable._execution_engine.run_backward(',
        ),
        at('backward', `${PACKAGES}torch/autograd/__init__.py`, 354, '_engine_run_backward('),
        at('backward_step', file, 491, 'torch.autograd.backward(output_tensor[0], grad_tensors=output_tensor_grad[0])'),
        at(name, file, 641, 'backward_step(input_tensor, output_tensor, output_tensor_grad, model_type, config)'),
        ...outer,
      ],
      forwardStep: [step, at(name, file, 632, 'output_tensor, num_tokens = forward_step('), ...outer],
      receiveForward: [],
      receiveBackward: [],
      deallocateOutput: [],
    };
  }
  if (kind === 'one_forward_one_backward') {
    const name = 'forward_backward_pipelining_without_interleaving';
    return {
      forwardStep: [step, at(name, file, 2168, 'output_tensor, num_tokens = forward_step('), ...outer],
      receiveForward: [
        ...receive('create_tensor_recv_prev', 318, 'recv_prev'),
        at(
          'recv_forward',
          `${core}pipeline_parallel/p2p_communication.py`,
          466,
          'input_tensor, _, _ = self._communicate(',
        ),
        at(name, file, 2145, 'input_tensor = p2p_communicator.recv_forward('),
        ...outer,
      ],
      receiveBackward: [
        ...receive('create_tensor_recv_next', 329, 'recv_next'),
        at(
          'recv_backward',
          `${core}pipeline_parallel/p2p_communication.py`,
          497,
          '_, output_tensor_grad, _ = self._communicate(',
        ),
        at(name, file, 2236, 'output_tensor_grad = p2p_communicator.recv_backward('),
        ...outer,
      ],
      backwardStep: [...backward(2243, name), ...outer],
      deallocateOutput: stub(2190, name),
    };
  }
  const name = 'forward_backward_pipelining_with_interleaving';
  const both = at(
    'send_forward_recv_forward',
    `${core}pipeline_parallel/p2p_communication.py`,
    551,
    'input_tensor, _, wait_handles = self._communicate(',
  );
  const bothBack = at(
    'send_backward_recv_backward',
    `${core}pipeline_parallel/p2p_communication.py`,
    583,
    '_, output_tensor_grad, wait_handles = self._communicate(',
  );
  return {
    forwardStep: [
      step,
      at('forward_step_helper', file, 1239, 'output_tensor, num_tokens = forward_step('),
      at('forward_backward_helper_wrapper', file, 1422, 'forward_output_tensor = forward_step_helper('),
      at(name, file, 1541, 'output_tensor, _ = forward_backward_helper_wrapper('),
      ...outer,
    ],
    receiveForward: [
      ...receive('create_tensor_recv_prev', 318, 'recv_prev'),
      both,
      at(name, file, 1599, 'input_tensor = p2p_communicator.send_forward_recv_forward('),
      ...outer,
    ],
    receiveBackward: [
      ...receive('create_tensor_recv_next', 329, 'recv_next'),
      bothBack,
      at(name, file, 1893, 'output_tensor_grad = p2p_communicator.send_backward_recv_backward('),
      ...outer,
    ],
    backwardStep: [
      ...backward(1293, 'backward_step_helper'),
      at('forward_backward_helper_wrapper', file, 1441, 'backward_input_tensor_grad = backward_step_helper('),
      at(name, file, 1706, 'output_tensor, input_tensor_grad = forward_backward_helper_wrapper('),
      ...outer,
    ],
    deallocateOutput: stub(1632, name),
  };
}
