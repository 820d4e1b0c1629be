/** Runs the steps of a page in a shell, and compares the responses with the page. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { emptyFolder } from '../rig/cleanup.ts'
import { cleanEnv } from './process.ts'
import { differences, documentedStatus, type Step } from './snippets.ts'

/**
 * Stores head and body of every response; `marks` has the number of responses after each step.
 */
const PRELUDE = `set -euo pipefail
curl() {
  local n; n=$(printf '%04d' "$(find "$OUT" -name '*.head' | wc -l)")
  command curl -sS -D "$OUT/$n.head" -o "$OUT/$n.body" "$@"
  cat "$OUT/$n.body"
}
mark() { find "$OUT" -name '*.head' | wc -l >> "$OUT/marks"; }
`

export interface ShellResponse {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Runs the steps in one shell, which retains variables, and returns the responses of each. */
export async function runSteps(
  t: TestContext,
  steps: readonly Step[],
  variables: Readonly<Record<string, string>>,
): Promise<ShellResponse[][]> {
  const out = emptyFolder(t)
  const script = PRELUDE + steps.map((step) => `${step.script}\nmark\n`).join('')
  const env = { ...cleanEnv(), OUT: out, ...variables }
  await promisify(execFile)('bash', ['-c', script], { env })
  const ends = readFileSync(join(out, 'marks'), 'utf8').trim().split('\n').map(Number)
  return ends.map((end, at) =>
    Array.from({ length: end - (ends[at - 1] ?? 0) }, (_, n) =>
      readResponse(join(out, String((ends[at - 1] ?? 0) + n).padStart(4, '0'))),
    ),
  )
}

function readResponse(path: string): ShellResponse {
  const head = readFileSync(`${path}.head`, 'utf8')
  // With `-i` curl writes the head before the body, too.
  const body = readFileSync(`${path}.body`, 'utf8').replace(head, '')
  return { status: Number(/^HTTP\/\S+ (\d+)/.exec(head)?.[1]), head, body }
}

/** Fails if a response has another status, header or shape than the page; values may differ. */
export function checkStep(step: Step, responses: readonly ShellResponse[]): void {
  const last = responses.at(-1)
  assert(last, `no curl ran in:\n${step.script}`)
  for (const response of responses) {
    const documented: number | undefined =
      response === last ? documentedStatus(step.json) : undefined
    const fits: boolean =
      documented === undefined ? /^2/.test(`${response.status}`) : response.status === documented
    assert(
      fits,
      `${response.status} instead of ${documented ?? '2xx'}:\n${step.script}${response.body}`,
    )
  }
  for (const name of step.headers) {
    assert.match(last.head.toLowerCase(), new RegExp(`^${name}:`, 'm'), step.script)
  }
  if (step.json === undefined) return
  assert.deepEqual(differences(step.json, JSON.parse(last.body)), [], step.script)
}
