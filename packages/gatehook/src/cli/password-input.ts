/**
 * Reads a password from standard input or from a prompt, never from an argument: every process on
 * the machine can read arguments.
 */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from './errors.ts'
import { writeText } from './output.ts'

/** For the summary of a command that reads a password. */
export const PASSWORD_SOURCE = 'the password is read from standard input, or typed at a terminal'

/**
 * Prompts twice at a terminal, without echo; otherwise reads the first line of standard input.
 * Throws `UsageError` for an empty password.
 */
export async function readPassword(account: string): Promise<string> {
  const { stdin } = process
  const password = stdin.isTTY ? await promptTwice(account) : await firstLine(stdin)
  if (password === '') {
    throw new UsageError('Give the password on standard input, or type it at a terminal.')
  }
  return password
}

async function promptTwice(account: string): Promise<string> {
  const silentOutput = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silentOutput, terminal: true })
  const promptFor = async (prompt: string) => {
    writeText(process.stderr, prompt)
    const password = await lines.question('')
    writeText(process.stderr, '\n')
    return password
  }
  try {
    const password = await promptFor(`Password for ${account}: `)
    if ((await promptFor('Once more: ')) === password) return password
  } finally {
    lines.close()
  }
  throw new UsageError('The two passwords differ.')
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream) text += chunk
  return text.split(/\r?\n/, 1)[0]!
}
