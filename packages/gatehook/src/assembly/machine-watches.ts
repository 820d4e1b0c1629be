/** Assembles what the node watches of its machine: the log, files, disks, password hashes. */
import { hashPace } from '../identity/people/hash-pace.ts'
import { outputState } from '../kernel/output-state.ts'
import { createBesideFileCheck } from '../operate/system/beside-files.ts'
import type { HealthChecks } from '../operate/system/health.ts'
import { createInodeCheck } from '../operate/system/inodes.ts'
import { createLogOutput } from '../operate/system/log-output.ts'
import { createOpenFileCheck } from '../operate/system/open-files.ts'
import { createPasswordHashes } from '../operate/system/password-hashes.ts'
import { createTlsFileCheck } from '../operate/system/tls-files.ts'
import type { FigureWatchOptions } from '../operate/system/watched-figure.ts'
import { type Config, tlsFilesOf } from '../platform/config/config.ts'
import { databaseFile, dataFolder, secretFile } from '../platform/config/environment.ts'
import type { Metric } from '../platform/telemetry/metric.ts'

interface MachineWatches {
  readonly warnings: HealthChecks
  readonly metrics: readonly Metric[]
}

export function assembleMachineWatches(
  config: Config,
  options: FigureWatchOptions,
): MachineWatches {
  const places = { file: databaseFile(config), secretFile: secretFile(config) }
  const watches = {
    log: createLogOutput(outputState),
    passwords: createPasswordHashes(hashPace),
    tls_files: createTlsFileCheck(tlsFilesOf(config), options),
    open_files: createOpenFileCheck(options),
    inodes: createInodeCheck({ folder: dataFolder(config), ...options }),
    beside_files: createBesideFileCheck({ ...places, ...options }),
  }
  return {
    warnings: Object.fromEntries(
      Object.entries(watches).map(([name, { warning }]) => [name, warning]),
    ),
    metrics: Object.values(watches).flatMap(({ metrics }) => metrics),
  }
}
