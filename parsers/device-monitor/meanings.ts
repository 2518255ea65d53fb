/** What the fields of NVIDIA's monitors mean, by the names each of them uses. */
import type { GaugeMetric } from '../../src/model/log-rows.js';

/**
 * `gauge`: bytes, in nvidia-smi's and DCGM's MB or MiB, both of them 2^20 (NVML counts bytes, and they divide by 1024
 * twice). `series`: a figure that is kept at every sample. `change`: a count or word that is kept when it changes;
 * counts not while they are 0.
 */
export type Meaning =
  | { readonly kind: 'gauge'; readonly metric: GaugeMetric }
  | { readonly kind: 'series'; readonly name: string; readonly unit: string }
  | { readonly kind: 'change'; readonly name: string; readonly unit: string | null }
  | {
      readonly kind: 'time' | 'index' | 'uuid' | 'bus' | 'pid' | 'process' | 'xid';
    };

const gauge = (metric: GaugeMetric): Meaning => ({ kind: 'gauge', metric });
const series = (name: string, unit: string): Meaning => ({ kind: 'series', name: `gpu.${name}`, unit });
const change = (name: string, unit: string | null = 'count'): Meaning => ({
  kind: 'change',
  name: `gpu.${name}`,
  unit,
});

const UTILIZATION = series('utilization', '%');
/** Share of the time in which device memory was read or written; no share of the memory. */
const MEMORY_UTILIZATION = series('memory_utilization', '%');
const POWER = series('power', 'W');
const TEMPERATURE = series('temperature', '°C');
const MEMORY_TEMPERATURE = series('memory_temperature', '°C');
const SM_CLOCK = series('clock.sm', 'MHz');
const MEMORY_CLOCK = series('clock.memory', 'MHz');
const NAME = change('name', null);

/**
 * Fields of `nvidia-smi --query-gpu` and `--query-compute-apps`, as the header names them (the unit in brackets left
 * out) and as scripts that write their own header do. Upstream: `nvidia-smi --help-query-gpu`,
 * `--help-query-compute-apps`.
 */
export const QUERY_FIELDS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['timestamp', { kind: 'time' }],
  ['index', { kind: 'index' }],
  ['gpu_index', { kind: 'index' }],
  ['uuid', { kind: 'uuid' }],
  ['gpu_uuid', { kind: 'uuid' }],
  ['pci.bus_id', { kind: 'bus' }],
  ['gpu_bus_id', { kind: 'bus' }],
  ['pid', { kind: 'pid' }],
  ['process_name', { kind: 'process' }],
  ['used_gpu_memory', gauge('process_used')],
  ['used_memory', gauge('process_used')],
  ['memory.total', gauge('device_total')],
  ['memory.used', gauge('device_used')],
  ['memory.free', gauge('device_free')],
  ['memory.reserved', gauge('device_reserved')],
  ['utilization.gpu', UTILIZATION],
  ['utilization.memory', MEMORY_UTILIZATION],
  ['power.draw', POWER],
  ['power.draw.average', series('power.average', 'W')],
  ['power.draw.instant', series('power.instant', 'W')],
  ['temperature.gpu', TEMPERATURE],
  ['temperature.memory', MEMORY_TEMPERATURE],
  ['clocks.current.sm', SM_CLOCK],
  ['clocks.sm', SM_CLOCK],
  ['clocks.current.memory', MEMORY_CLOCK],
  ['clocks.mem', MEMORY_CLOCK],
  ['name', NAME],
  ['gpu_name', NAME],
  ['driver_version', { kind: 'change', name: 'version.driver', unit: null }],
  ['power.limit', change('power.limit', 'W')],
  ['enforced.power.limit', change('power.limit', 'W')],
  ['pstate', change('pstate', null)],
  ['mig.mode.current', change('mig_mode', null)],
  ['compute_mode', change('compute_mode', null)],
  ['clocks_throttle_reasons.active', change('throttle_reasons', null)],
  ['clocks_event_reasons.active', change('throttle_reasons', null)],
  ['ecc.errors.corrected.volatile.total', change('ecc.volatile.corrected')],
  ['ecc.errors.uncorrected.volatile.total', change('ecc.volatile.uncorrected')],
  ['ecc.errors.corrected.aggregate.total', change('ecc.aggregate.corrected')],
  ['ecc.errors.uncorrected.aggregate.total', change('ecc.aggregate.uncorrected')],
  ['retired_pages.single_bit_ecc.count', change('retired_pages.single_bit')],
  ['retired_pages.double_bit.count', change('retired_pages.double_bit')],
  ['retired_pages.pending', change('retired_pages.pending', null)],
  ['remapped_rows.correctable', change('remapped_rows.correctable')],
  ['remapped_rows.uncorrectable', change('remapped_rows.uncorrectable')],
  ['remapped_rows.pending', change('remapped_rows.pending', null)],
  ['remapped_rows.failure', change('remapped_rows.failure', null)],
]);

/**
 * Fields of `nvidia-smi -q` by section and name, and of `-q -x` by the path of their elements below `gpu`. Names
 * changed with the drivers; all of them are here. Upstream: nvidia-smi's manual, and the `nvsmi_device_v*.dtd` that the
 * XML names.
 */
export const REPORT_FIELDS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['Product Name', NAME],
  ['product_name', NAME],
  ['GPU UUID', { kind: 'uuid' }],
  ['uuid', { kind: 'uuid' }],
  ...both('FB Memory Usage', 'fb_memory_usage', [
    ['Total', 'total', gauge('device_total')],
    ['Reserved', 'reserved', gauge('device_reserved')],
    ['Used', 'used', gauge('device_used')],
    ['Free', 'free', gauge('device_free')],
  ]),
  ...both('Utilization', 'utilization', [
    ['Gpu', 'gpu_util', UTILIZATION],
    ['GPU', 'gpu_util', UTILIZATION],
    ['Memory', 'memory_util', MEMORY_UTILIZATION],
  ]),
  ...both('Temperature', 'temperature', [
    ['GPU Current Temp', 'gpu_temp', TEMPERATURE],
    ['Memory Current Temp', 'memory_temp', MEMORY_TEMPERATURE],
  ]),
  ...both('Power Readings', 'power_readings', [['Power Draw', 'power_draw', POWER]]),
  ...both('GPU Power Readings', 'gpu_power_readings', [
    ['Power Draw', 'power_draw', POWER],
    ['Average Power Draw', 'average_power_draw', series('power.average', 'W')],
    ['Instantaneous Power Draw', 'instant_power_draw', series('power.instant', 'W')],
  ]),
  ...both('Clocks', 'clocks', [
    ['SM', 'sm_clock', SM_CLOCK],
    ['Memory', 'mem_clock', MEMORY_CLOCK],
  ]),
  ...(['Volatile', 'Aggregate'] as const).flatMap((span) => {
    const lower = span.toLowerCase();
    const name = `ecc.${lower}`;
    return both(`ECC Errors/${span}`, `ecc_errors/${lower}`, [
      ['SRAM Correctable', 'sram_correctable', change(`${name}.sram_correctable`)],
      ['SRAM Uncorrectable', 'sram_uncorrectable', change(`${name}.sram_uncorrectable`)],
      ['SRAM Uncorrectable Parity', 'sram_uncorrectable_parity', change(`${name}.sram_uncorrectable_parity`)],
      ['SRAM Uncorrectable SEC-DED', 'sram_uncorrectable_secded', change(`${name}.sram_uncorrectable_secded`)],
      ['SRAM Threshold Exceeded', 'sram_threshold_exceeded', change(`${name}.sram_threshold_exceeded`, null)],
      ['DRAM Correctable', 'dram_correctable', change(`${name}.dram_correctable`)],
      ['DRAM Uncorrectable', 'dram_uncorrectable', change(`${name}.dram_uncorrectable`)],
    ]);
  }),
  ...both('ECC Errors/Volatile/Single Bit', 'ecc_errors/volatile/single_bit', [
    ['Total', 'total', change('ecc.volatile.corrected')],
  ]),
  ...both('ECC Errors/Volatile/Double Bit', 'ecc_errors/volatile/double_bit', [
    ['Total', 'total', change('ecc.volatile.uncorrected')],
  ]),
  ['Retired Pages/Single Bit ECC', change('retired_pages.single_bit')],
  ['Retired Pages/Double Bit ECC', change('retired_pages.double_bit')],
  ['Retired Pages/Pending Page Blacklist', change('retired_pages.pending', null)],
  ['Retired Pages/Pending', change('retired_pages.pending', null)],
  ['retired_pages/multiple_single_bit_retirement/retired_count', change('retired_pages.single_bit')],
  ['retired_pages/double_bit_retirement/retired_count', change('retired_pages.double_bit')],
  ['retired_pages/pending_retirement', change('retired_pages.pending', null)],
  ...both('Remapped Rows', 'remapped_rows', [
    ['Correctable Error', 'remapped_row_corr', change('remapped_rows.correctable')],
    ['Uncorrectable Error', 'remapped_row_unc', change('remapped_rows.uncorrectable')],
    ['Pending', 'remapped_row_pending', change('remapped_rows.pending', null)],
    ['Remapping Failure Occurred', 'remapped_row_failure', change('remapped_rows.failure', null)],
  ]),
  ...both('GPU Reset Status', 'gpu_reset_status', [
    ['Reset Required', 'reset_required', change('reset_required', null)],
    ['Drain and Reset Recommended', 'drain_and_reset_recommended', change('drain_recommended', null)],
  ]),
  ['GPU Recovery Action', change('recovery_action', null)],
  ['gpu_recovery_action', change('recovery_action', null)],
  ...(['Clocks Throttle Reasons', 'Clocks Event Reasons'] as const).flatMap((section) =>
    (
      [
        'HW Slowdown',
        'HW Slowdown/HW Thermal Slowdown',
        'HW Slowdown/HW Power Brake Slowdown',
        'SW Thermal Slowdown',
        'SW Power Cap',
      ] as const
    ).map((reason): [string, Meaning] => {
      const word = reason.slice(reason.indexOf('/') + 1).toLowerCase();
      return [`${section}/${reason}`, change(`throttle.${word.replaceAll(' ', '_')}`, null)];
    }),
  ),
  ...(['throttle', 'event'] as const).flatMap((word) =>
    (
      ['hw_slowdown', 'hw_thermal_slowdown', 'hw_power_brake_slowdown', 'sw_thermal_slowdown', 'sw_power_cap'] as const
    ).map((reason): [string, Meaning] => [
      `clocks_${word}_reasons/clocks_${word}_reason_${reason}`,
      change(`throttle.${reason}`, null),
    ]),
  ),
]);

/** Words of a report for a healthy state: kept only if the value was different before. */
export const GOOD_WORDS: ReadonlySet<string> = new Set(['No', 'Not Active', 'None', 'Disabled']);

function both(
  section: string,
  element: string,
  fields: readonly (readonly [string, string, Meaning])[],
): readonly (readonly [string, Meaning])[] {
  return fields.flatMap(([name, tag, meaning]) => [
    [`${section}/${name}`, meaning] as const,
    [`${element}/${tag}`, meaning] as const,
  ]);
}

/** Columns of `nvidia-smi dmon`. Upstream: nvidia-smi's manual, DEVICE MONITORING. */
export const DMON_COLUMNS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['gpu', { kind: 'index' }],
  ['fb', gauge('device_used')],
  ['sm', UTILIZATION],
  ['mem', MEMORY_UTILIZATION],
  ['pwr', POWER],
  ['temp', TEMPERATURE],
  ['gtemp', TEMPERATURE],
  ['mtemp', MEMORY_TEMPERATURE],
  ['pclk', SM_CLOCK],
  ['mclk', MEMORY_CLOCK],
  ['sbecc', change('ecc.aggregate.corrected')],
  ['dbecc', change('ecc.aggregate.uncorrected')],
]);

/** Columns of `nvidia-smi pmon`; the utilizations are those of the process, and no series of the device. */
export const PMON_COLUMNS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['gpu', { kind: 'index' }],
  ['pid', { kind: 'pid' }],
  ['fb', gauge('process_used')],
  ['command', { kind: 'process' }],
]);

/**
 * Short names of `dcgmi dmon`, by their field in {@link DCGM_FIELDS}. Upstream: DCGM `dcgmlib/src/dcgm_fields.cpp`
 * [mem].
 */
export const DCGM_SHORT_NAMES: ReadonlyMap<string, string> = new Map([
  ['FBTTL', 'DCGM_FI_DEV_FB_TOTAL'],
  ['FBFRE', 'DCGM_FI_DEV_FB_FREE'],
  ['FBUSD', 'DCGM_FI_DEV_FB_USED'],
  ['FBRSV', 'DCGM_FI_DEV_FB_RESERVED'],
  ['GPUTL', 'DCGM_FI_DEV_GPU_UTIL'],
  ['MCUTL', 'DCGM_FI_DEV_MEM_COPY_UTIL'],
  ['POWER', 'DCGM_FI_DEV_POWER_USAGE'],
  ['POWR', 'DCGM_FI_DEV_POWER_USAGE'],
  ['TMPTR', 'DCGM_FI_DEV_GPU_TEMP'],
  ['MMTMP', 'DCGM_FI_DEV_MEMORY_TEMP'],
  ['SMCLK', 'DCGM_FI_DEV_SM_CLOCK'],
  ['MMCLK', 'DCGM_FI_DEV_MEM_CLOCK'],
  ['GRACT', 'DCGM_FI_PROF_GR_ENGINE_ACTIVE'],
  ['SMACT', 'DCGM_FI_PROF_SM_ACTIVE'],
  ['SMOCC', 'DCGM_FI_PROF_SM_OCCUPANCY'],
  ['TENSO', 'DCGM_FI_PROF_PIPE_TENSOR_ACTIVE'],
  ['DRAMA', 'DCGM_FI_PROF_DRAM_ACTIVE'],
  ['XIDER', 'DCGM_FI_DEV_XID_ERRORS'],
]);

/**
 * Fields of DCGM as dcgm-exporter names its series. Upstream: DCGM `dcgm_fields.h`, dcgm-exporter
 * `etc/default-counters.csv`.
 */
export const DCGM_FIELDS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ['DCGM_FI_DEV_FB_TOTAL', gauge('device_total')],
  ['DCGM_FI_DEV_FB_USED', gauge('device_used')],
  ['DCGM_FI_DEV_FB_FREE', gauge('device_free')],
  ['DCGM_FI_DEV_FB_RESERVED', gauge('device_reserved')],
  ['DCGM_FI_DEV_GPU_UTIL', UTILIZATION],
  ['DCGM_FI_DEV_MEM_COPY_UTIL', MEMORY_UTILIZATION],
  ['DCGM_FI_DEV_POWER_USAGE', POWER],
  ['DCGM_FI_DEV_GPU_TEMP', TEMPERATURE],
  ['DCGM_FI_DEV_MEMORY_TEMP', MEMORY_TEMPERATURE],
  ['DCGM_FI_DEV_SM_CLOCK', SM_CLOCK],
  ['DCGM_FI_DEV_MEM_CLOCK', MEMORY_CLOCK],
  ['DCGM_FI_PROF_GR_ENGINE_ACTIVE', series('prof.graphics_active', 'ratio')],
  ['DCGM_FI_PROF_SM_ACTIVE', series('prof.sm_active', 'ratio')],
  ['DCGM_FI_PROF_SM_OCCUPANCY', series('prof.sm_occupancy', 'ratio')],
  ['DCGM_FI_PROF_PIPE_TENSOR_ACTIVE', series('prof.tensor_active', 'ratio')],
  ['DCGM_FI_PROF_DRAM_ACTIVE', series('prof.dram_active', 'ratio')],
  ['DCGM_FI_DEV_XID_ERRORS', { kind: 'xid' }],
  ['DCGM_FI_DEV_ECC_SBE_VOL_TOTAL', change('ecc.volatile.corrected')],
  ['DCGM_FI_DEV_ECC_DBE_VOL_TOTAL', change('ecc.volatile.uncorrected')],
  ['DCGM_FI_DEV_ECC_SBE_AGG_TOTAL', change('ecc.aggregate.corrected')],
  ['DCGM_FI_DEV_ECC_DBE_AGG_TOTAL', change('ecc.aggregate.uncorrected')],
  ['DCGM_FI_DEV_RETIRED_SBE', change('retired_pages.single_bit')],
  ['DCGM_FI_DEV_RETIRED_DBE', change('retired_pages.double_bit')],
  ['DCGM_FI_DEV_RETIRED_PENDING', change('retired_pages.pending')],
  ['DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS', change('remapped_rows.correctable')],
  ['DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS', change('remapped_rows.uncorrectable')],
  ['DCGM_FI_DEV_ROW_REMAP_FAILURE', change('remapped_rows.failure')],
]);
