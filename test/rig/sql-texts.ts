/** Reads the texts in the source of the engine that may be SQL, with their constants. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'

const ROOT = fileURLToPath(new URL('../../packages/gatehook/src/', import.meta.url))

export interface SqlText {
  /** `identity/tokens/store.ts readSession`: the file, and the declaration at its top. */
  readonly place: string
  /** A table that is a value is `unnamed_table`, other values are `$1`. */
  readonly text: string
}

type SyntaxNode = Readonly<Record<string, unknown>>

const isNode = (value: unknown): value is SyntaxNode => typeof value === 'object' && value !== null
const listOf = (value: unknown): SyntaxNode[] => (Array.isArray(value) ? value : [])
const nameOf = (node: unknown): string | undefined =>
  isNode(node) && typeof node.name === 'string' ? node.name : undefined

/** Returns the texts of all files except declarations of tables, which run before requests. */
export function readSqlTexts(): SqlText[] {
  const files = globSync('**/*.ts', { cwd: ROOT, exclude: ['**/tables.ts', '**/*.test.ts'] })
  return files.flatMap((file) => {
    const { body } = parseAst(readFileSync(ROOT + file, 'utf8'), { lang: 'ts' })
    const declared = listOf(body).flatMap(declarationsOf)
    const constants = new Map<string, string>()
    for (const { name, value } of declared) {
      const text = textOf(value, constants)
      if (name && text !== undefined) constants.set(name, text)
    }
    return declared.flatMap(({ name, value }) =>
      textsIn(value, constants).map((text) => ({ place: `${file} ${name ?? ''}`.trim(), text })),
    )
  })
}

/** Returns the constants, functions and classes of a statement at the top of a file. */
function declarationsOf(statement: SyntaxNode): { name: string | undefined; value: unknown }[] {
  const inner = isNode(statement.declaration) ? statement.declaration : statement
  if (inner.type !== 'VariableDeclaration') return [{ name: nameOf(inner.id), value: inner }]
  return listOf(inner.declarations).map(({ id, init }) => ({ name: nameOf(id), value: init }))
}

const numbered = (text: string): string => text.replaceAll('?', '$1')

function textsIn(value: unknown, constants: ReadonlyMap<string, string>): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, constants))
  if (!isNode(value)) return []
  const text = textOf(value, constants)
  const inner = Object.values(value).flatMap((child) => textsIn(child, constants))
  return text === undefined ? inner : [text, ...inner]
}

function textOf(node: unknown, constants: ReadonlyMap<string, string>): string | undefined {
  if (!isNode(node)) return undefined
  if (node.type === 'Literal')
    return typeof node.value === 'string' ? numbered(node.value) : undefined
  if (node.type === 'TaggedTemplateExpression') return textOf(node.quasi, constants)
  if (node.type !== 'TemplateLiteral') return undefined
  const values = listOf(node.expressions)
  let text = ''
  for (const [at, { value }] of listOf(node.quasis).entries()) {
    text += (value as { cooked: string }).cooked
    if (at === values.length) break
    const isTable = /\b(FROM|JOIN|INTO|UPDATE)\s+$/.test(text)
    text += constants.get(nameOf(values[at]) ?? '') ?? (isTable ? 'unnamed_table' : '$1')
  }
  return numbered(text)
}
