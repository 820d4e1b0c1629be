/** A copy of the reference service in a folder of its own, to be changed and compiled. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyFolder } from '../cli/process.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const root = at('../../../../')

export interface Copy {
  readonly folder: string
  /** Replaces every `from`; throws where there is none. */
  edit(path: string, ...edits: readonly (readonly [from: string, to: string])[]): void
  write(path: string, text: string): void
  /** What `tsc --noEmit` says of the folder's own files; empty where it is content. */
  compile(): Promise<string[]>
}

export function copyOfService(t: TestContext, { empty = false } = {}): Copy {
  const folder = emptyFolder(t)
  if (!empty) cpSync(at('../../service'), folder, { recursive: true })
  // As `npm install` would have it: the engine and the types of Node.
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true })
  symlinkSync(at('../..'), join(folder, 'node_modules/gatehook'))
  symlinkSync(join(root, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const config = { extends: join(root, 'tsconfig.json'), include: ['**/*.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  return {
    folder,
    edit(path, ...edits) {
      const file = join(folder, path)
      let text = readFileSync(file, 'utf8')
      for (const [from, to] of edits) {
        if (!text.includes(from)) throw new Error(`${path} does not say: ${from}`)
        text = text.replaceAll(from, () => to)
      }
      writeFileSync(file, text)
    },
    write: (path, text) => writeFileSync(join(folder, path), text),
    compile: () =>
      new Promise((resolve) => {
        const tsc = join(root, 'node_modules/typescript/bin/tsc')
        execFile(process.execPath, [tsc, '--noEmit'], { cwd: folder }, (_error, stdout, stderr) =>
          resolve(
            // The engine's sources are compiled along; they have a check of their own.
            `${stdout}${stderr}`
              .split('\n')
              .filter((line) => line !== '' && !/^\s|^\.\.\/|^node_modules\//.test(line)),
          ),
        )
      }),
  }
}
