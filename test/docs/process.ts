/** The real program as a process on a fresh SQLite file, for tests that do what a reader does. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'

const MAIN = fileURLToPath(new URL('../../packages/gatehook/bin/gatehook.cjs', import.meta.url))

/** A test, or a file of tests. */
type Ending = { after(ending: () => Promise<void>): void }

export async function freshFolder(t: Ending): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehook-docs-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The environment without what would configure the program. */
export const cleanEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOOK_')))

/** Runs `gatehook …` to its end; gives what it printed. */
export async function gatehook(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args], {
    env: cleanEnv(),
  })
  return stdout
}

export interface Running {
  readonly url: string
  /** A key of the default customer's test mode, where the sample data is. */
  readonly key: string
  /** The operator's key. */
  readonly admin: string
}

/** Starts the service of a folder, seeded; it ends with the test. */
export async function startService(
  t: Ending,
  folder: string,
  scopes: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const admin = generateApiKey(systemRandom(), 'live')
  const data = await freshFolder(t)
  const child = spawn(process.execPath, [MAIN, 'start', folder, '--port', '0'], {
    env: {
      ...cleanEnv(),
      GATEHOOK_DATABASE_URL: `sqlite:${join(data, 'gatehook.db')}`,
      GATEHOOK_BOOTSTRAP_KEY: admin,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(async () => {
    if (child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  const url = await listening(child)
  const response = await fetch(`${url}/admin/keys`, {
    method: 'POST',
    headers: { 'x-api-key': admin, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'docs', mode: 'test', scopes }),
  })
  const { key } = (await response.json()) as { key: string }
  if (response.status !== 201) throw new Error(`no key: ${response.status}`)
  return { url, key, admin }
}

async function listening(child: ChildProcess): Promise<string> {
  const said: string[] = []
  child.stderr!.on('data', (chunk) => said.push(String(chunk)))
  for await (const line of createInterface({ input: child.stdout! })) {
    said.push(line)
    const { msg, url } = JSON.parse(line) as { msg?: string; url?: string }
    if (msg === 'listening') {
      child.stdout!.resume()
      return url!
    }
  }
  throw new Error(`the service did not start:\n${said.join('\n')}`)
}
