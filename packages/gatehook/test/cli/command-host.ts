/**
 * Runs commands one after another in one process, so that a test of many commands loads the program
 * once. Its parent sends `HostCommand`s and gets a `ProcessResult` for each.
 */
import { run } from '../../src/cli/program.ts'
import type { ProcessResult } from './command.ts'

export interface HostCommand {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

/** Collects what a command writes to a stream, in place of the stream. */
function capture(stream: NodeJS.WriteStream): () => string {
  const { write } = stream
  let text = ''
  stream.write = ((chunk: string | Uint8Array) => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    return true
  }) as typeof stream.write
  return () => {
    stream.write = write
    stream.removeAllListeners('error')
    return text
  }
}

async function runCommand({ args, cwd, env }: HostCommand): Promise<ProcessResult> {
  process.chdir(cwd)
  process.env = { ...env }
  process.exitCode = undefined
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)]
  await run(args).catch((error: Error) => {
    process.exitCode = 1
    process.stderr.write(String(error.stack))
  })
  const exit = Number(process.exitCode ?? 0)
  return { exit, stdout: stdout(), stderr: stderr() }
}

let last: Promise<unknown> = Promise.resolve()

process.on('message', (command: HostCommand) => {
  last = last.then(() => runCommand(command)).then((result) => process.send!(result))
})
