/** Copies the reference service to a temporary folder, where a test edits and compiles it. */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { emptyFolder } from '../../../../test/rig/cleanup.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const root = at('../../../../')

export interface ServiceCopy {
  readonly folder: string
  /** Replaces every `from`. Throws if the file has none. */
  edit(path: string, ...edits: readonly (readonly [from: string, to: string])[]): void
  write(path: string, text: string): void
  read(path: string): string
  /** Returns the errors that `tsc --noEmit` reports for files of the folder. */
  compile(): Promise<string[]>
}

export function copyOfService(t: TestContext, { empty = false } = {}): ServiceCopy {
  const folder = emptyFolder(t)
  if (!empty) cpSync(at('../../service'), folder, { recursive: true })
  // Links the packages that `npm install` would install.
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
        if (!text.includes(from)) throw new Error(`${path} does not contain: ${from}`)
        text = text.replaceAll(from, () => to)
      }
      writeFileSync(file, text)
    },
    write: (path, text) => writeFileSync(join(folder, path), text),
    read: (path) => readFileSync(join(folder, path), 'utf8'),
    compile: () =>
      new Promise((resolve) => {
        const tsc = join(root, 'node_modules/typescript/bin/tsc')
        execFile(process.execPath, [tsc, '--noEmit'], { cwd: folder }, (_error, stdout, stderr) =>
          resolve(
            // `tsc` compiles the engine's sources too; the project's own check covers them.
            `${stdout}${stderr}`
              .split('\n')
              .filter((line) => line !== '' && !/^\s|^\.\.\/|^node_modules\//.test(line)),
          ),
        )
      }),
  }
}
