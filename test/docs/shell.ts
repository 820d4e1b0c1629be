/** A page's steps, run in a shell as a reader would; what is shown is compared with what came. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { cleanEnv, freshFolder } from './process.ts'
import { differences, promisedStatus, type Step } from './snippets.ts'

/**
 * Every call leaves its head and its body behind; `marks` says how many there were after each step.
 */
const PRELUDE = `set -euo pipefail
curl() {
  local n; n=$(printf '%04d' "$(find "$OUT" -name '*.head' | wc -l)")
  command curl -sS -D "$OUT/$n.head" -o "$OUT/$n.body" "$@"
  cat "$OUT/$n.body"
}
mark() { find "$OUT" -name '*.head' | wc -l >> "$OUT/marks"; }
`

export interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Runs a page's steps in one shell, so that variables live on; gives each step's answers. */
export async function run(
  t: TestContext,
  steps: readonly Step[],
  variables: Readonly<Record<string, string>>,
): Promise<Answer[][]> {
  const out = await freshFolder(t)
  const script = PRELUDE + steps.map((step) => `${step.script}\nmark\n`).join('')
  const env = { ...cleanEnv(), OUT: out, ...variables }
  await promisify(execFile)('bash', ['-c', script], { env })
  const ends = readFileSync(join(out, 'marks'), 'utf8').trim().split('\n').map(Number)
  return ends.map((end, at) =>
    Array.from({ length: end - (ends[at - 1] ?? 0) }, (_, n) =>
      answerOf(join(out, String((ends[at - 1] ?? 0) + n).padStart(4, '0'))),
    ),
  )
}

function answerOf(path: string): Answer {
  const head = readFileSync(`${path}.head`, 'utf8')
  // With `-i` curl writes the head before the body, too.
  const body = readFileSync(`${path}.body`, 'utf8').replace(head, '')
  return { status: Number(/^HTTP\/\S+ (\d+)/.exec(head)?.[1]), head, body }
}

/** Fails where an answer is not as the page shows it, whatever the values. */
export function checkStep(step: Step, answers: readonly Answer[]): void {
  const last = answers.at(-1)
  assert(last, `no curl ran in:\n${step.script}`)
  for (const answer of answers) {
    const promised: number | undefined = answer === last ? promisedStatus(step.json) : undefined
    const fits: boolean =
      promised === undefined ? /^2/.test(`${answer.status}`) : answer.status === promised
    assert(fits, `${answer.status} instead of ${promised ?? '2xx'}:\n${step.script}${answer.body}`)
  }
  for (const name of step.headers) {
    assert.match(last.head.toLowerCase(), new RegExp(`^${name}:`, 'm'), step.script)
  }
  if (step.json === undefined) return
  assert.deepEqual(differences(step.json, JSON.parse(last.body)), [], step.script)
}
