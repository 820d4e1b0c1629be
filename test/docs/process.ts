/** Starts the real program on a new SQLite file, for tests that follow a page. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { generateApiKey } from '../../packages/gatehook/src/kernel/api-key-format.ts'
import { systemRandom } from '../../packages/gatehook/src/kernel/random.ts'
import { bindChild } from '../rig/child-processes.ts'
import { type CleanupScope, emptyFolder, onEnd } from '../rig/cleanup.ts'

const MAIN = fileURLToPath(new URL('../../packages/gatehook/bin/gatehook.cjs', import.meta.url))

/** Returns the environment without the options of the program. */
export const cleanEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOOK_')))

/** Runs `gatehook …` to its end and returns its output. */
export const gatehook = (...args: string[]): Promise<string> => gatehookWith({}, ...args)

/** Runs `gatehook …` with options in the environment. */
export async function gatehookWith(
  environment: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args], {
    env: { ...cleanEnv(), ...environment },
  })
  return stdout
}

export interface RunningService {
  readonly url: string
  /** A key of the default customer's test mode, which has the sample data. */
  readonly key: string
  /** A key with the scope `admin`. */
  readonly admin: string
  /** `GATEHOOK_DATABASE_URL`, for commands beside the service. */
  readonly database: string
  stop(): Promise<void>
}

/** Starts the service of a folder with sample data, and stops it after the test. */
export async function startService(
  t: CleanupScope,
  folder: string,
  scopes: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
): Promise<RunningService> {
  const admin = generateApiKey(systemRandom(), 'live')
  const database = `sqlite:${join(emptyFolder(t), 'gatehook.db')}`
  const args = [MAIN, 'start', folder, '--port', '0', ...flags]
  const started = spawn(process.execPath, args, {
    env: {
      ...cleanEnv(),
      GATEHOOK_DATABASE_URL: database,
      GATEHOOK_BOOTSTRAP_KEY: admin,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // A file that fails before its first test runs no hooks.
  const child = bindChild(started)
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  onEnd(t, stop)
  const url = await waitUntilListening(child)
  const response = await fetch(`${url}/admin/keys`, {
    method: 'POST',
    headers: { 'x-api-key': admin, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'docs', mode: 'test', scopes }),
  })
  const { key } = (await response.json()) as { key: string }
  if (response.status !== 201) throw new Error(`no key: ${response.status}`)
  return { url, key, admin, database, stop }
}

async function waitUntilListening(child: ChildProcess): Promise<string> {
  const output: string[] = []
  child.stderr!.on('data', (chunk) => output.push(String(chunk)))
  for await (const line of createInterface({ input: child.stdout! })) {
    output.push(line)
    const { msg, url } = JSON.parse(line) as { msg?: string; url?: string }
    if (msg === 'listening') {
      child.stdout!.resume()
      return url!
    }
  }
  throw new Error(`the service did not start:\n${output.join('\n')}`)
}
