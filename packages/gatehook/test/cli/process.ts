/** Processes of the command line that serve until they are stopped. */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { exitOf, launch, type Place, type ProcessResult, textOf } from './command.ts'

type Line = Record<string, unknown>

export interface Running {
  /** Lines of standard output so far, parsed. */
  readonly lines: readonly Line[]
  /** Resolves with the first matching line. Rejects with the output if the process ends first. */
  line(matches: (line: Line) => boolean): Promise<Line>
  readonly kill: (signal: NodeJS.Signals) => void
  readonly ended: Promise<ProcessResult>
}

/** Starts a process that runs until `kill`. The test kills it at its end. */
export function launched(t: TestContext, place: Place, ...args: string[]): Running {
  const child = launch(args, place)
  const stderr = textOf(child.stderr)
  const lines: Line[] = []
  const texts: string[] = []
  const searches = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (text) => {
    texts.push(text)
    lines.push(JSON.parse(text))
    for (const search of searches) search()
  })
  const ended = exitOf(child).then(async (exit) => ({
    exit,
    stdout: texts.join('\n'),
    stderr: await stderr,
  }))
  // Its output may stay open: `gatehook dev` shares it with a process of its own.
  const exited = once(child, 'exit')
  onEnd(t, () => {
    child.kill('SIGKILL')
    return exited
  })
  return {
    lines,
    ended,
    kill: (signal) => void child.kill(signal),
    line: (matches) =>
      new Promise((resolve, reject) => {
        const search = () => {
          const match = lines.find(matches)
          if (match) resolve(match)
        }
        searches.add(search)
        search()
        ended.then((end) => reject(new Error(`ended before:\n${end.stdout}\n${end.stderr}`)))
      }),
  }
}

/** Starts the service and resolves when it listens. */
export async function serving(t: TestContext, place: Place, ...args: string[]) {
  const run = launched(t, place, 'start', '--port', '0', ...args)
  const { url } = await run.line(({ msg }) => msg === 'listening')
  return { ...run, url: String(url) }
}
