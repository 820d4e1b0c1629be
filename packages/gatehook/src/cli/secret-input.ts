/**
 * A password on its way in: from standard input, or typed where a person sits. Never from the
 * command line, where any process on the machine could read it.
 */
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { UsageError } from './mistake.ts'

/** For the summary of a command that reads one. */
export const PASSWORD_FROM = 'the password is read from standard input, or typed at a terminal'

/** Typed twice on a terminal, without echo; else the first line of standard input. */
export async function readPassword(whose: string): Promise<string> {
  const { stdin } = process
  const password = stdin.isTTY ? await typedTwice(whose) : await firstLine(stdin)
  if (password === '') {
    throw new UsageError('Give the password on standard input, or type it at a terminal.')
  }
  return password
}

async function typedTwice(whose: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  const ask = async (prompt: string) => {
    process.stderr.write(prompt)
    const typed = await lines.question('')
    process.stderr.write('\n')
    return typed
  }
  try {
    const password = await ask(`Password for ${whose}: `)
    if ((await ask('Once more: ')) === password) return password
  } finally {
    lines.close()
  }
  throw new UsageError('The two are not the same.')
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  let text = ''
  stream.setEncoding('utf8')
  for await (const chunk of stream) text += chunk
  return text.split(/\r?\n/, 1)[0]!
}
