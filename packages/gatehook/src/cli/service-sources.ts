/** Reads the sources of a service for `gatehook check`: its file, and those that it imports. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, relative, resolve, sep } from 'node:path'
import { readSqlUses } from '../declare/gate/sql-sources.ts'

/** The SQL of own code: `service.ts:12: sentence`. */
export interface SqlReport {
  readonly mistakes: readonly string[]
  readonly unscoped: readonly string[]
}

const SOURCE = /\.[cm]?[jt]s$/

/** Returns the file of an import; undefined for a dependency, and for the engine. */
function fileOf(specifier: string, importer: string): string | undefined {
  if (/^(gatehook($|\/)|node:)/.test(specifier)) return undefined
  try {
    const file = specifier.startsWith('.')
      ? resolve(dirname(importer), specifier)
      : createRequire(importer).resolve(specifier)
    const isOwn = existsSync(file) && !file.includes(`${sep}node_modules${sep}`)
    return isOwn && SOURCE.test(file) ? realpathSync(file) : undefined
  } catch {
    return undefined
  }
}

/** @param path the file of the service */
export function readSqlReport(path: string): SqlReport {
  const files = new Set([realpathSync(path)])
  const mistakes: string[] = []
  const unscoped: string[] = []
  for (const file of files) {
    const uses = readSqlUses(readFileSync(file, 'utf8'))
    const place = relative(process.cwd(), file)
    mistakes.push(...uses.mistakes.map(({ line, sentence }) => `${place}:${line}: ${sentence}`))
    unscoped.push(...uses.unscoped.map(({ line }) => `${place}:${line}`))
    for (const specifier of uses.imports) {
      const imported = fileOf(specifier, file)
      if (imported !== undefined) files.add(imported)
    }
  }
  return { mistakes, unscoped }
}
