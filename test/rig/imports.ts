/** The imports of files, and circles between them. */
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const root = join(import.meta.dirname, '../..')

const FROM =
  /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/g

/** Returns the names of the modules that a file imports; types count. */
export const importsOf = (path: string): string[] =>
  [...readFileSync(join(root, path), 'utf8').matchAll(FROM)].map((match) => (match[1] ?? match[2])!)

/** Returns the paths of the files that a file imports. */
export const filesImportedBy = (path: string): string[] =>
  importsOf(path)
    .filter((name) => name.startsWith('.'))
    .map((name) => normalize(join(dirname(path), name)))

/** Returns a circle of imports between the files, as `a → b → a`, for each file that closes one. */
export function circlesOf(files: readonly string[]): string[] {
  const all = new Set(files)
  const visited = new Set<string>()
  const circles: string[] = []
  const visit = (path: string, chain: readonly string[]): void => {
    const at = chain.indexOf(path)
    if (at >= 0) circles.push([...chain.slice(at), path].join(' → '))
    if (at >= 0 || visited.has(path)) return
    for (const target of filesImportedBy(path)) {
      if (all.has(target)) visit(target, [...chain, path])
    }
    visited.add(path)
  }
  for (const path of files) visit(path, [])
  return circles
}
