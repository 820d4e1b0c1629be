/**
 * Generates `docs/reference/declaration.md`, the vocabulary of declarations, from the comments in
 * the source.
 */
import { readFileSync } from 'node:fs'
import { contextTable } from './context-words.ts'

const SOURCE = new URL('../../packages/gatehook/src/', import.meta.url)

interface Block {
  readonly title: string
  /** The sentence before the table. */
  readonly lead?: string
  readonly file: string
  /** The line that opens the block; it ends at the first line that begins with `}`. */
  readonly opens: string
}

const blocks: readonly Block[] = [
  {
    title: '`f`: kinds of fields',
    lead: 'A client that creates a row sends each field without a default, except read-only ones.',
    file: 'protocol/fields/f.ts',
    opens: 'export const f = {',
  },
  {
    title: 'Modifiers of a field',
    file: 'protocol/fields/fields.ts',
    opens: 'export class Field<',
  },
  {
    title: '`resource(name, {…})`',
    file: 'declare/resources/resource-options.ts',
    opens: 'export interface RowOptions<',
  },
  {
    title: '`resource(name, {…})`: its API',
    file: 'declare/resources/resource-options.ts',
    opens: 'export interface ResourceOptions<',
  },
  {
    title: '`resource(name, {…})`: operations on many rows',
    lead: 'See the guide [many rows at once](../guides/bulk.md).',
    file: 'declare/resources/collection-options.ts',
    opens: 'export interface CollectionOptions<',
  },
  {
    title: '`resource(name, {…})`: columns of the previous release',
    lead: 'See the guide [versions](../guides/versions.md#a-rename-while-an-old-node-runs).',
    file: 'declare/resources/retired-columns.ts',
    opens: 'export interface RetiredOptions {',
  },
  {
    title: 'The chain of a resource',
    lead: 'Each method returns a new resource; `service()` receives the last one.',
    file: 'declare/resources/resource.ts',
    opens: 'export class Resource<',
  },
  {
    title: '`.action(name, {…})`',
    file: 'declare/resources/resource-options.ts',
    opens: 'export interface ActionOptions<',
  },
  {
    title: 'Arguments of `.rule(operation, rule)`',
    lead: 'See the guide [own code](../guides/own-code.md).',
    file: 'declare/resources/rule.ts',
    opens: 'export interface RuleArguments<',
  },
  {
    title: 'Arguments of `run` of an action',
    file: 'declare/resources/resource-options.ts',
    opens: 'export interface RunArguments<',
  },
  {
    title: '`log` and `signal` of own code',
    file: 'declare/resources/own-words.ts',
    opens: 'export interface OwnContext {',
  },
  {
    title: '`.signsIn({…})`',
    lead: 'See the guide [people](../guides/people.md).',
    file: 'declare/resources/sign-in.ts',
    opens: 'export interface SignInOptions<',
  },
  {
    title: '`signUp: {…}`',
    file: 'declare/resources/sign-in.ts',
    opens: 'export interface SignUpOptions<',
  },
  {
    title: '`.before(version, {…})`',
    lead: 'See the guide [versions](../guides/versions.md).',
    file: 'declare/resources/resource-options.ts',
    opens: 'export interface ChangeOptions<',
  },
  {
    title: '`service({…})`',
    file: 'declare/resources/service-options.ts',
    opens: 'export interface ServiceOptions {',
  },
  {
    title: '`versions: { v1: {…} }`',
    file: 'declare/versions/declaration.ts',
    opens: 'export interface VersionOptions {',
  },
  {
    title: '`migrations: [{…}]`',
    file: 'declare/resources/migration-options.ts',
    opens: 'export interface MigrationOptions {',
  },
  {
    title: '`.mail(transport, {…})`',
    lead: 'See the guide [people](../guides/people.md#send-mail).',
    file: 'platform/mail/message.ts',
    opens: 'export interface MailOptions {',
  },
  {
    title: '`.route({…})`',
    file: 'declare/resources/route.ts',
    opens: 'export interface RouteOptions<',
  },
  {
    title: '`fields({…}).before(version, {…})`',
    lead: 'See the guide [own code](../guides/own-code.md#routes-in-older-versions).',
    file: 'declare/resources/body-fields.ts',
    opens: 'export interface BodyChangeOptions<',
  },
  {
    title: 'Arguments of a route’s handler',
    file: 'declare/resources/route.ts',
    opens: 'export interface RouteContext<',
  },
  {
    title: '`.upstream(name, {…})`',
    lead: 'See the guide [in front of an application](../guides/in-front-of.md).',
    file: 'declare/resources/upstream.ts',
    opens: 'export interface UpstreamOptions {',
  },
  {
    title: '`.forward({…})`',
    lead: '`method`, `path` and `scope` are those of a route.',
    file: 'declare/resources/upstream.ts',
    opens: 'export interface ForwardOptions<',
  },
  {
    title: 'The chain of a service',
    lead: 'See [background work](../guides/own-code.md#background-work).',
    file: 'declare/resources/service.ts',
    opens: 'export class Service<',
  },
  {
    title: 'Options of `.job()`, `.every()` and `.on()`',
    file: 'declare/resources/job.ts',
    opens: 'export interface JobOptions {',
  },
  {
    title: 'Further options of `.every()`',
    file: 'declare/resources/job.ts',
    opens: 'export interface ScheduleOptions<',
  },
  {
    title: 'Arguments of every handler of background work',
    file: 'declare/resources/job.ts',
    opens: 'interface AttemptContext ',
  },
  {
    title: 'Further arguments of `.job()` and `.on()`',
    lead: '`.job()` has `input`, the validated input; `.on()` has `event` in the newest version.',
    file: 'declare/resources/job.ts',
    opens: 'interface CustomerContext {',
  },
  {
    title: 'Further arguments of `.every()`',
    lead: "With `{ each: 'customer' }` also those of `.job()`, except `input`.",
    file: 'declare/resources/job.ts',
    opens: 'interface DueTimes {',
  },
  {
    title: 'Further arguments of `.every()` without `each`',
    file: 'declare/resources/job.ts',
    opens: 'export interface ScheduleContext ',
  },
  {
    title: 'Arguments of the code of a step',
    file: 'declare/resources/service-access.ts',
    opens: 'export interface StepEffect ',
  },
  {
    title: 'Inside `write`',
    file: 'declare/resources/service-access.ts',
    opens: 'export interface ServiceTx ',
  },
]

export function declarationPage(): string {
  const parts = blocks.map(({ title, lead, file, opens }) => {
    const rows = [...(file === CALLS ? callsOfKinds() : []), ...membersOf(readSource(file), opens)]
    if (rows.length === 0) throw new Error(`${file} has nothing at ${opens}`)
    const undocumented = rows.find(({ description }) => description === '')
    if (undocumented) throw new Error(`${file}: ${undocumented.name} has no comment`)
    const table = rows.map(({ name, description }) => `| \`${name}\` | ${description} |`)
    return [`## ${title}`, lead, ['| word | meaning |', '| --- | --- |', ...table].join('\n')]
  })
  const head = [
    '# Declaration',
    'This page is generated by `npm run docs`.',
    'The vocabulary of a declaration: ' +
      "`import { f, fields, job, resource, service } from 'gatehook'`. " +
      '[Your first API](../guides/first-api.md) uses it step by step.',
  ]
  const contexts = [
    '## The words of each context of own code',
    'A `.check` receives the row alone: it must hold after every later change. A route that is ' +
      'no GET is a transaction, and calls other systems in steps. `.every()` belongs to no ' +
      'customer.',
    contextTable(),
  ]
  return `${[...head, ...parts.flat(), ...contexts].filter(Boolean).join('\n\n')}\n`
}

const readSource = (file: string): string => readFileSync(new URL(file, SOURCE), 'utf8')

/** The file of `f`, which also has the calls of all kinds. */
const CALLS = 'protocol/fields/f.ts'
const KINDS = 'protocol/fields/kinds/'

/** Returns the calls of the kinds, in the order of their table. */
function callsOfKinds(): ReturnType<typeof membersOf> {
  const table = readSource(`${KINDS}table.ts`)
  return [...table.matchAll(/^ {2}\.\.\.(\w+Call),$/gm)].flatMap(([, call]) => {
    const [, file] = new RegExp(`\\b${call}\\b.*from '\\./(.*)'`).exec(table)!
    return membersOf(readSource(KINDS + file), `export const ${call} = {`)
  })
}

/** Matches a member indented by two spaces, with its comment if it has one. */
const MEMBER = /(?: {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)? {2}(?:readonly )?([a-z]\w*)(\??)([:(<])/g

function membersOf(source: string, opens: string): { name: string; description: string }[] {
  const from = source.indexOf(opens)
  const block = from < 0 ? '' : source.slice(from, source.indexOf('\n}', from) + 1)
  return [...block.matchAll(MEMBER)]
    .filter(({ index }) => block[index - 1] === '\n')
    .filter(({ 2: name }) => !INNER.includes(name!))
    .map(({ 1: comment = '', 2: name, 3: mark }) => ({
      name: `${name}${mark}`,
      description: oneLine(comment),
    }))
    .filter(isDocumentedOverload)
}

/** The implementation of documented overloads has no comment. */
const isDocumentedOverload = (
  { name, description }: { name: string; description: string },
  index: number,
  members: readonly { name: string }[],
): boolean => description !== '' || !members.slice(0, index).some((other) => other.name === name)

/** Members of the two classes that declarations do not use. */
const INNER = ['constructor', 'definition', 'spec']

/** Joins the lines of a comment, and escapes pipes, which would end the cell. */
const oneLine = (comment: string): string =>
  comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*? ?/, '').trim())
    .filter(Boolean)
    .join(' ')
    .replaceAll('|', '\\|')
