/**
 * `npm run record`: runs the first commands of a new user in an empty folder, and writes what the
 * terminal displays, with its times, to `docs/images/first-run.svg`. Needs `script` (util-linux)
 * and `curl`. Keys and tokens of the temporary installation are shortened.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type TerminalLine, terminalSvg, wrapLine } from './terminal-svg.ts'

const COLUMNS = 120
const KEYSTROKE_MS = 22
/** How long a reader sees a result before the next command. */
const PAUSE_MS = 1200
const LIMIT_MS = 60_000
/** A quiet node stores its requests in this time; the recording leaves it out. */
const LOG_DELAY_MS = 6000
const PUBLISHED_PORT = 8787
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'first-run-'))
symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

const port = await freePort()

/** Shortens secrets, and names the default port. */
const published = (text: string): string =>
  text
    .replace(/(gk_test_\w{4})\w+/g, '$1…')
    .replace(/(#token=[\w-]{4})[\w-]+/g, '$1…')
    .replaceAll(`:${port}`, `:${PUBLISHED_PORT}`)
    .replaceAll(`port=${port}`, `port=${PUBLISHED_PORT}`)

interface OutputLine {
  readonly text: string
  readonly atMs: number
}

interface Terminal {
  readonly lines: readonly OutputLine[]
  /** Resolves when the output contains a text, or the command has ended. */
  until(text?: string): Promise<void>
  /** Presses Ctrl+C, and waits for the end. */
  interrupt(): Promise<void>
}

/** Returns what a line displays after the program has cleared it. */
const withoutCleared = (text: string): string => text.replace(/^.*\x1b\[\d?[JK]/, '')

/** Runs a command in a terminal of its own. */
function openTerminal(command: string, env: Readonly<Record<string, string>> = {}): Terminal {
  const { PATH = '', HOME = '' } = process.env
  const startedMs = performance.now()
  const child = spawn(
    'script',
    ['-qfec', `stty cols ${COLUMNS} rows 50; ${command}`, '/dev/null'],
    {
      cwd: folder,
      env: { PATH, HOME, TERM: 'xterm', npm_config_loglevel: 'error', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const lines: OutputLine[] = []
  let partial = ''
  let wake = () => {}
  let isOver = false
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const texts = (partial + chunk).split(/\r?\n/)
    partial = texts.pop()!
    const atMs = Math.round(performance.now() - startedMs)
    for (const text of texts) lines.push({ text: withoutCleared(text), atMs })
    wake()
  })
  child.once('close', () => {
    const rest = withoutCleared(partial)
    if (rest !== '') lines.push({ text: rest, atMs: Math.round(performance.now() - startedMs) })
    isOver = true
    wake()
  })
  const until = async (text?: string) => {
    const timer = globalThis.setTimeout(() => child.kill(), LIMIT_MS)
    while (!isOver && !(text !== undefined && lines.some((line) => line.text.includes(text)))) {
      await new Promise<void>((resolve) => (wake = resolve))
    }
    clearTimeout(timer)
  }
  return {
    lines,
    until,
    async interrupt() {
      child.stdin.write('\x03')
      await until()
    },
  }
}

const session: TerminalLine[] = []
let timeMs = 300

function typeCommand(text: string, prompt = '\x1b[32m$\x1b[39m '): void {
  const typedMs = text.length * KEYSTROKE_MS
  for (const part of text.split('\n')) {
    session.push({ text: prompt + part, atMs: timeMs, typedMs: part.length * KEYSTROKE_MS })
    timeMs += part.length * KEYSTROKE_MS
    prompt = '  '
  }
  timeMs += Math.min(typedMs, 200)
}

function displayOutput(lines: readonly OutputLine[]): void {
  const startMs = timeMs
  for (const { text, atMs } of lines) {
    for (const part of wrapLine(published(text), COLUMNS)) {
      session.push({ text: part, atMs: startMs + atMs })
    }
  }
  timeMs = startMs + (lines.at(-1)?.atMs ?? 0) + PAUSE_MS
  session.push({ text: '', atMs: timeMs })
}

/** Runs a command to its end; its environment has the key and the URL. */
async function runCommand(
  text: string,
  env: Readonly<Record<string, string>>,
): Promise<readonly OutputLine[]> {
  typeCommand(text)
  const { lines, until } = openTerminal(text, env)
  await until()
  displayOutput(lines)
  return lines
}

const server = openTerminal('npx gatehook start', { GATEHOOK_PORT: String(port) })
try {
  typeCommand('npx gatehook start')
  await server.until('Ctrl+C stops it')
  displayOutput(server.lines)
  const [key] = /gk_test_\w+/.exec(server.lines.map(({ text }) => text).join('\n')) ?? []
  if (key === undefined) throw new Error('The first start printed no test key.')
  const env = { KEY: key, URL: `http://127.0.0.1:${port}`, GATEHOOK_PORT: String(port) }
  const here = { ...env, npm_config_update_notifier: 'false' }
  session.push({ text: '\x1b[2m# in another terminal, with URL and KEY\x1b[22m', atMs: timeMs })
  await runCommand('curl -H "X-API-Key: $KEY" "$URL/api/v2/orders?limit=1"', here)
  await runCommand(
    'curl -X POST -H "X-API-Key: $KEY" -H "Content-Type: application/json" \\\n' +
      '-d \'{"user_id": 1, "amount": "700"}\' "$URL/api/v2/orders"',
    here,
  )
  await setTimeout(LOG_DELAY_MS)
  const list = await runCommand('npx gatehook requests --status 4xx', here)
  const [id] = /req_\w+/.exec(list.map(({ text }) => text).join('\n')) ?? []
  if (id === undefined) throw new Error('The request log has no rejected request.')
  await runCommand(`npx gatehook requests show ${id}`, here)
  while (session.at(-1)?.text === '') session.pop()
  const svg = terminalSvg(session, {
    title: 'A first run of Gatehook',
    description:
      'gatehook start creates the database and prints links and a test key. A request returns an ' +
      'order; another one is rejected, and gatehook requests names the step that rejected it.',
    columns: COLUMNS,
  })
  writeFileSync(join(ROOT, 'docs/images/first-run.svg'), svg)
  console.log(`docs/images/first-run.svg: ${svg.length} bytes, ${Math.round(timeMs / 1000)} s`)
} finally {
  await server.interrupt()
  rmSync(folder, { recursive: true, force: true })
}
