/** The Caddy of `deploy/` in front of nodes, on a port of its own, without TLS. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './postgres.ts'

const CONFIGURATION = join(import.meta.dirname, '../../deploy/Caddyfile')
/** No control port, and no change of the certificates of the machine. */
const GLOBAL = '{\n\tadmin off\n\tskip_install_trust\n}\n'

export const hasCaddy = spawnSync('caddy', ['version']).status === 0

interface Caddy {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  stop(): Promise<void>
}

export async function startCaddy(nodes: readonly number[]): Promise<Caddy> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-caddy-'))
  const url = `http://127.0.0.1:${await freePort()}`
  const file = join(folder, 'Caddyfile')
  const text = await readFile(CONFIGURATION, 'utf8')
  const targets = nodes.map((port) => `127.0.0.1:${port}`).join(' ')
  await writeFile(file, GLOBAL + text.replace(/node1:8787 node2:8787/, targets))
  const env = { ...process.env, GATEHOOK_DOMAIN: url, HOME: folder }
  const args = ['run', '--config', file, '--adapter', 'caddyfile']
  const child: ChildProcess = spawn('caddy', args, { env, stdio: 'ignore' })
  return {
    url,
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
