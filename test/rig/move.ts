/** Moves a database between the processes of a test, as `gatehook move` does. */
import { moveOf } from '../../packages/gatehook/src/declare/resources/move-target.ts'
import type { Service } from '../../packages/gatehook/src/declare/resources/service.ts'
import { wallClock } from '../../packages/gatehook/src/kernel/clock.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import {
  type MoveOptions,
  moveInstallation,
} from '../../packages/gatehook/src/platform/storage/move/move.ts'
import { openDatabase } from '../../packages/gatehook/src/platform/storage/open.ts'
import { quietLog } from './databases.ts'

/** Moves the installation of a service from one URL to another. */
export async function moveDatabase(
  from: string,
  to: string,
  { definition }: Service,
  options: Pick<MoveOptions, 'onProgress' | 'audit'> = {},
) {
  const source = await openDatabase(from, { log: quietLog })
  const target = await openDatabase({ url: to }, { log: quietLog, checksReferences: false })
  try {
    return await moveInstallation({
      ...moveOf(source, target, definition),
      targetName: 'the target',
      random: systemRandom(),
      elapsedMs: wallClock.elapsedMs,
      ...options,
    })
  } finally {
    await Promise.all([source.close(), target.close()])
  }
}
