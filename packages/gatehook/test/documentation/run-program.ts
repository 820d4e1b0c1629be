/** Runs the programs of the docs as their readers do: in a shell, with Node, with Python. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..', '..')
const LIMIT_MS = 20_000

/** The reason to skip programs in Python; false if they run. */
export const withoutPython = (): string | false =>
  spawnSync('python3', ['--version']).status === 0 ? false : 'python3 is not installed'

export interface ProgramRunner {
  /** Returns the output. Throws with the errors of a program that fails. */
  run(language: string, text: string, env: Readonly<Record<string, string>>): Promise<string>
  /** Starts a program that does not end; the test ends it. */
  start(language: string, text: string, env: Readonly<Record<string, string>>): void
}

/** Creates a folder in which programs find the packages of this repository. */
export function createRunner(t: TestContext): ProgramRunner {
  const folder = emptyFolder(t)
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  let count = 0
  const write = (extension: string, text: string): string => {
    const path = join(folder, `${++count}.${extension}`)
    writeFileSync(path, text)
    return path
  }
  const commands: Readonly<Record<string, (text: string) => string[]>> = {
    // The readers' curl reports a status; here a failure ends the program.
    curl: (text) => ['sh', '-c', text.replace(/^curl /, 'curl -sS --fail-with-body ')],
    TypeScript: (text) => [process.execPath, write('mts', text)],
    Python: (text) => ['python3', write('py', text)],
  }
  return {
    run(language, text, env) {
      const [command, ...words] = commands[language]!(text)
      return capture(command!, words, env)
    },
    start(language, text, env) {
      const [command, ...words] = commands[language]!(text)
      const child = spawn(command!, words, {
        env: { PATH: process.env.PATH, ...env },
        stdio: 'ignore',
      })
      const closed = once(child, 'close')
      onEnd(t, () => {
        child.kill('SIGKILL')
        return closed
      })
    },
  }
}

function capture(
  command: string,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const child = spawn(command, words, {
    env: { PATH: process.env.PATH, ...env },
    timeout: LIMIT_MS,
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (errors += chunk))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status) => {
      if (status === 0) resolve(output)
      else reject(new Error(`${command} exits with ${status}: ${output}${errors}`))
    })
  })
}
