/** The haproxy of `deploy/` in front of nodes, with their ports in place of those of the file. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './postgres.ts'

const CONFIGURATION = join(import.meta.dirname, '../../deploy/haproxy.cfg')

/** Debian's haproxy is outside the path of ordinary users. */
const PROGRAM = ['haproxy', '/usr/sbin/haproxy'].find(
  (program) => spawnSync(program, ['-v']).status === 0,
)
export const hasHaproxy = PROGRAM !== undefined

export interface Haproxy {
  readonly port: number
  stop(): Promise<void>
}

export async function startHaproxy(nodes: readonly number[]): Promise<Haproxy> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-haproxy-'))
  const port = await freePort()
  const file = join(folder, 'haproxy.cfg')
  const text = await readFile(CONFIGURATION, 'utf8')
  const servers = nodes.map((node, n) => `  server node${n + 1} 127.0.0.1:${node}`)
  const ownText = text
    .replace(':8080', `127.0.0.1:${port}`)
    .replace(/(^ {2}server .*\n)+/gm, `${servers.join('\n')}\n`)
  await writeFile(file, ownText)
  const child: ChildProcess = spawn(PROGRAM!, ['-db', '-f', file], { stdio: 'ignore' })
  return {
    port,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const exit = once(child, 'exit')
        child.kill('SIGKILL')
        await exit
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}
