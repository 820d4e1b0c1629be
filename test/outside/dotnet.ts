/**
 * `dotnet` without the SDK, which the registries of the tests lack: the runtime and the assemblies
 * of one package of npm, and Roslyn of another one. It runs programs, and compiles new ones.
 */
import { cpSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment, npm, output } from './stage.ts'

const NODE = dirname(process.execPath)

/** Installs `dotnet` in the folder of programs of a virtual environment of Python. */
export async function installDotnet(folder: string, venv: string): Promise<void> {
  cpSync(join(import.meta.dirname, 'dotnet'), folder, { recursive: true })
  await npm(folder, NODE, 'install')
  await output(
    folder,
    environment(NODE),
    join(venv, 'bin/pip'),
    'install',
    '-q',
    'pythonnet==3.2.1',
  )
  const [python, program] = [join(venv, 'bin/python'), join(folder, 'dotnet.py')]
  const line = `NODE_MODULES='${folder}/node_modules' exec '${python}' '${program}' "$@"`
  writeFileSync(join(venv, 'bin/dotnet'), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
}
