/** The file and line of the team's code in a stack, for messages about mistakes of that code. */
import { fileURLToPath } from 'node:url'

const ENGINE = new URL('../../', import.meta.url).href
const PLACE = /^(file:\/\/.*?):(\d+)(?::\d+)?$/
const HEAD = /^(?:file:\/\/)?(\/\S.*|[A-Za-z]:[\\/].*):(\d+)$/

/** Returns `file:line` of the innermost stack frame outside the engine and Node. */
export function locationOf(error: Error): string | undefined {
  const lines = (error.stack ?? '').split('\n')
  // Syntax errors name the location on their first line, before the message.
  const head = HEAD.exec(lines[0] ?? '')
  if (head) return `${decodeURI(head[1]!)}:${head[2]}`
  for (const line of lines) {
    // `at name (file:///a.ts:1:2)`, `at async file:///a.ts:1:2`
    const start = Math.max(line.lastIndexOf('('), line.lastIndexOf(' ')) + 1
    const frame = PLACE.exec(line.slice(start, line.endsWith(')') ? -1 : undefined))
    if (frame && !frame[1]!.startsWith(ENGINE) && !frame[1]!.includes('/node_modules/')) {
      return `${fileURLToPath(frame[1]!)}:${frame[2]}`
    }
  }
  return undefined
}
