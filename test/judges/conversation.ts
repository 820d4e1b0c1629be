/** A program that prints the pages which its person opens, one JSON line each, and results. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { allowInBrowser, type Credentials } from '../oauth/browser.ts'

interface Place {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

export interface Conversation {
  /** The members of all lines except `open`. */
  readonly results: Readonly<Record<string, unknown>>
  /** The pages that the person opened. */
  readonly pages: readonly URL[]
  /** The text of its standard error. */
  readonly errors: string
}

/**
 * Runs a program to its end. The person signs in and allows each page; the program reads the
 * redirect, or a word for a page without one.
 */
export async function converse(
  command: readonly [program: string, ...args: string[]],
  place: Place,
  credentials: Credentials,
): Promise<Conversation> {
  const [program, ...args] = command
  const child: ChildProcess = spawn(program, args, { ...place, stdio: 'pipe' })
  const errors: string[] = []
  child.stderr!.on('data', (chunk) => errors.push(String(chunk)))
  const results: Record<string, unknown> = {}
  const pages: URL[] = []
  for await (const line of createInterface({ input: child.stdout! })) {
    const { open, ...result } = JSON.parse(line)
    Object.assign(results, result)
    if (open === undefined) continue
    pages.push(new URL(open))
    const { outside } = await allowInBrowser(new URL(open), credentials)
    child.stdin!.write(`${outside?.href ?? 'allowed'}\n`)
  }
  return { results, pages, errors: errors.join('') }
}
