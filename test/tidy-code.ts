/** The code of a file, for checks of names and calls. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'rolldown/utils'

const root = join(import.meta.dirname, '..')

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly value?: unknown
  readonly source?: Node | null
}

/** Declarations whose text is the name of a module. */
const OF_MODULE = /^(Import|ExportNamed|ExportAll)(Declaration|Expression)$/

/** Adds the literals that are texts or regular expressions to a list. */
function collectLiterals(value: unknown, literals: Node[]): void {
  if (typeof value !== 'object' || value === null) return
  const node = value as Node
  if (node.type === 'TemplateElement' || node.type === 'JSXText') literals.push(node)
  if (node.type === 'Literal' && (typeof node.value === 'string' || 'regex' in node)) {
    literals.push(node)
  }
  const isModule = OF_MODULE.test(node.type)
  for (const key in node) {
    if (!(isModule && key === 'source')) collectLiterals(node[key as keyof Node], literals)
  }
}

/**
 * Returns the code of a file without its comments, and without the content of texts and regular
 * expressions: a word in them is not a name. The names of modules remain.
 */
export function codeOf(path: string): string {
  const source = readFileSync(join(root, path), 'utf8')
  const { program, comments } = parseSync(path, source)
  const blanks: [from: number, to: number][] = comments.map(({ start, end }) => [start, end])
  const literals: Node[] = []
  collectLiterals(program, literals)
  for (const { type, start, end } of literals) {
    blanks.push(type === 'Literal' ? [start + 1, end - 1] : [start, end])
  }
  let [code, from] = ['', 0]
  for (const [start, end] of blanks.sort(([a], [b]) => a - b)) {
    code += source.slice(from, start)
    from = Math.max(from, end)
  }
  return code + source.slice(from)
}
