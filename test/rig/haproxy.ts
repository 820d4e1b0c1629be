/** The haproxy of `deploy/` in front of nodes, with own ports and certificate in place of its. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './postgres.ts'

const CONFIGURATION = join(import.meta.dirname, '../../deploy/haproxy.cfg')
const CERTIFICATES = join(import.meta.dirname, '../../packages/gatehook/test/fixtures/tls')

/** Debian's haproxy is outside the path of ordinary users. */
const PROGRAM = ['haproxy', '/usr/sbin/haproxy'].find(
  (program) => spawnSync(program, ['-v']).status === 0,
)
export const hasHaproxy = PROGRAM !== undefined

/** Clients trust this certificate, which names 127.0.0.1. */
export const haproxyCertificate = readFileSync(join(CERTIFICATES, 'first.crt'))

export interface Haproxy {
  /** `https://127.0.0.1:PORT` */
  readonly url: string
  /** The same without TLS. */
  readonly plainUrl: string
  stop(): Promise<void>
}

/** Writes the configuration with these ports into a folder, and returns the file. */
export async function writeHaproxyConfiguration(
  folder: string,
  ports: { readonly tls: number; readonly plain: number; readonly nodes: readonly number[] },
): Promise<string> {
  const pem = join(folder, 'gatehook.pem')
  const key = await readFile(join(CERTIFICATES, 'first.key'))
  await writeFile(pem, Buffer.concat([haproxyCertificate, key]))
  const file = join(folder, 'haproxy.cfg')
  const servers = ports.nodes.map((node, n) => `  server node${n + 1} 127.0.0.1:${node}\n`)
  const text = await readFile(CONFIGURATION, 'utf8')
  const ownText = text
    .replace(':443 ssl crt /etc/haproxy/gatehook.pem', `127.0.0.1:${ports.tls} ssl crt ${pem}`)
    .replace('bind :80\n', `bind 127.0.0.1:${ports.plain}\n`)
    .replace(/(^ {2}server .*\n)+/gm, servers.join(''))
  await writeFile(file, ownText)
  return file
}

export async function startHaproxy(nodes: readonly number[]): Promise<Haproxy> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-haproxy-'))
  const [tls, plain] = [await freePort(), await freePort()]
  const file = await writeHaproxyConfiguration(folder, { tls, plain, nodes })
  const child: ChildProcess = spawn(PROGRAM!, ['-db', '-f', file], { stdio: 'ignore' })
  return {
    url: `https://127.0.0.1:${tls}`,
    plainUrl: `http://127.0.0.1:${plain}`,
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
