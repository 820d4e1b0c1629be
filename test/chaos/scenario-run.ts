/** Runs a scenario in a process group of its own, and ends the group: also at the time limit. */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ChaosResult, ChaosScenario, ScenarioOrder } from './scenario.ts'

const LIMIT_MS = 600_000
/** Another user, that of PostgreSQL, passes through the folder. */
const PASSABLE = 0o711

/** Temporary files of the scenario are in `order.folder`, which it creates. */
export async function runScenario(
  { name, limitMs = LIMIT_MS }: ChaosScenario,
  order: ScenarioOrder,
): Promise<ChaosResult> {
  const { nodes, folder } = order
  await mkdir(folder, { mode: PASSABLE })
  const child = fork(join(import.meta.dirname, 'scenario-process.ts'), {
    detached: true, // the leader of a group
    env: { ...process.env, TMPDIR: folder },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const endGroup = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // all of its processes have ended
    }
  }
  process.once('exit', endGroup) // this process was ended
  let result: ChaosResult | undefined
  child.once('message', (message) => {
    result = message as ChaosResult
    endGroup()
  })
  child.send(order)
  const timer = setTimeout(endGroup, limitMs)
  const startedMs = performance.now()
  const [code] = await once(child, 'exit')
  clearTimeout(timer)
  endGroup()
  process.off('exit', endGroup)
  unmountBelow(folder)
  const seconds = Math.round((performance.now() - startedMs) / 1_000)
  const end =
    code === null ? `no end within ${limitMs / 1_000} s` : `its process ended with ${code}`
  return result ?? { scenario: name, nodes, seconds, lost: 0, faults: [end], words: [] }
}

/** A scenario that reached its limit has left its disk. */
function unmountBelow(folder: string): void {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n')
  for (const mount of mounts.map((line) => line.split(' ')[1] ?? '')) {
    if (mount.startsWith(`${folder}/`)) execFileSync('umount', ['-l', mount])
  }
}
