/**
 * The options of a command from the body of its operation: the name, value and meaning of each
 * member, and the JSON of a command line (decision 0107). The service validates the JSON.
 */
import { readFileSync } from 'node:fs'
import { isInstantMs, isoTime } from '../kernel/time.ts'
import { isRate } from '../protocol/fields/columns.ts'
import { memberKindOf } from '../protocol/fields/kinds/table.ts'
import { type Members, specsOf } from '../protocol/fields/members.ts'
import type { MemberSpec, MemberSpecs } from '../protocol/fields/spec.ts'
import { memberWords } from '../protocol/openapi/member-words.ts'
import { parseDuration, words } from './arguments.ts'
import type { CommandOption, Input } from './command.ts'
import { UsageError } from './errors.ts'

export type BodyJson = Readonly<Record<string, unknown>>

/** The facts of an option beyond those of its member. */
interface OptionWords {
  /** The name of the option. Default: that of the member, without its unit. */
  readonly option?: string
  /** Default: the description of the member. */
  readonly meaning?: string
  /** The placeholder. Default: that of the form. */
  readonly value?: string
  /** Default: that of the kind of the member. */
  readonly form?: OptionForm
  /** Whether the command completes the body without the option. */
  readonly isOptional?: true
  /** Of an object, or of the only item of a list: its members are options. */
  readonly members?: BodyWords
}

/** The words by the name of the member; false: it has no option. */
export type BodyWords = Readonly<Record<string, OptionWords | false>>

/** A span of time from now, before the service has said its time. */
class Span {
  readonly ms: number
  constructor(seconds: number) {
    this.ms = seconds * 1000
  }
  from(nowMs: number): string {
    const instantMs = nowMs + this.ms
    if (isInstantMs(instantMs)) return isoTime(instantMs)
    throw new UsageError('A span of time ends after the year 9999.')
  }
}

/** The form of a value on the command line. */
interface OptionForm {
  /** The placeholder. Default: the last word of the member. */
  readonly value?: string
  /** Whether the option takes several texts. */
  readonly isList?: true
  /** Returns the JSON of the text, or of the texts. Throws `UsageError`. */
  readonly read: (text: never, option: string) => unknown
}

const instantForm = (direction: 1 | -1): OptionForm => ({
  value: 'WHEN',
  read(text: string, option) {
    const seconds = parseDuration(text)
    if (seconds !== undefined) return new Span(direction * seconds)
    if (/^\d/.test(text)) return text
    throw new UsageError(
      `${option} is "${text}"; expected an instant (2027-01-31T12:00:00Z), or a span such as 90d.`,
    )
  },
})

/** An instant, or a span back from now. */
export const PAST = instantForm(-1)

const RATE = /^(\d{1,7})\/(\d{1,5})$/

const forms = {
  instant: instantForm(1),
  span: {
    value: 'SPAN',
    read(text: string, option) {
      const seconds = parseDuration(text)
      if (seconds !== undefined) return seconds
      throw new UsageError(`${option} is "${text}"; expected a span such as 24h, 30m or 0s.`)
    },
  },
  rate: {
    value: 'N/SECONDS',
    read(text: string, option) {
      const [, limit, windowS] = RATE.exec(text) ?? []
      if (limit) return { limit: Number(limit), window_s: Number(windowS) }
      throw new UsageError(`${option} is "${text}"; expected a number per seconds: 600/60.`)
    },
  },
  json: {
    value: 'FILE',
    read(text: string, option) {
      try {
        return JSON.parse(/^[[{]/.test(text) ? text : readFileSync(text, 'utf8'))
      } catch {
        throw new UsageError(`${option} ${text} is no file with JSON.`)
      }
    },
  },
} satisfies Readonly<Record<string, OptionForm>>

const isObject = ({ kind }: MemberSpec): boolean => /^(object|map|json)$/.test(kind)

function formOf(name: string, spec: MemberSpec): OptionForm {
  const { kind, items } = spec
  if (kind === 'instant') return forms.instant
  if (kind === 'int' && name.endsWith('_seconds')) return forms.span
  if (isRate(spec)) return forms.rate
  if (isObject(items ?? spec)) return forms.json
  if (items) return { isList: true, read: (texts: readonly string[]) => words(texts) }
  return { read: memberKindOf(spec).fromQuery ?? String }
}

/** A member with its option. */
interface Leaf {
  readonly name: string
  readonly option: string
  readonly spec: MemberSpec
  readonly form: OptionForm
  readonly meaning: string
  readonly value: string
  /** Whether the object is new, so that an omitted member has its default. */
  readonly isNew: boolean
  readonly isRequired: boolean
}

/** An object whose members are options, or a list with one such item. */
interface Branch {
  readonly name: string
  readonly isList: boolean
  readonly nodes: readonly OptionNode[]
}

type OptionNode = Leaf | Branch

/** Returns a description as the meaning of an option. */
const plainWords = (text: string): string =>
  text
    .replace(/ \((§|RFC )[^)]*\)/g, '')
    .replaceAll('`', '')
    .replace(/\.$/, '')
    .replace(/^[A-Z](?=[a-z]*[ ,.])/, (letter) => letter.toLowerCase())

function nodesOf(
  members: MemberSpecs,
  bodyWords: BodyWords,
  isNew: boolean,
): readonly OptionNode[] {
  return Object.entries(members).flatMap(([name, spec]): readonly OptionNode[] => {
    const own = bodyWords[name] ?? {}
    if (own === false) return []
    const object = own.members ? (spec.items ?? spec) : isRate(spec) ? undefined : spec
    if (object?.members) {
      const isList = spec.items !== undefined
      const nodes = nodesOf(object.members, own.members ?? {}, isNew || isList)
      return [{ name, isList, nodes }]
    }
    const form = own.form ?? formOf(name, spec)
    const value = own.value ?? form.value ?? name.split('_').at(-1)!.toUpperCase()
    const described = spec.description ?? memberWords('', name)?.[0] ?? name.replaceAll('_', ' ')
    return [
      {
        name,
        option: own.option ?? name.replace(/_(at|seconds)$/, '').replaceAll('_', '-'),
        spec,
        form,
        meaning: own.meaning ?? plainWords(described),
        value: form.isList ? `<${value.replace(/S?$/, 'S')}...>` : `<${value}>`,
        isNew,
        isRequired: isNew && spec.write === 'required' && !own.isOptional,
      },
    ]
  })
}

const leavesOf = (nodes: readonly OptionNode[]): readonly Leaf[] =>
  nodes.flatMap((node) => ('nodes' in node ? leavesOf(node.nodes) : [node]))

/** A member with a single value besides its absence is a flag as well. */
const isFlag = ({ spec: { kind, values } }: Leaf): boolean =>
  kind === 'bool' || values?.length === 1

/** Whether a text clears the member. */
const isClearable = ({ spec: { nullable, items, min = 0 } }: Leaf): boolean =>
  nullable || (items !== undefined && min === 0)

/** A member whose values the service declares. */
const isDeclared = ({ spec: { items } }: Leaf): boolean => items?.values?.length === 0

/** A list is also named by the singular: `--scope a --scope b`. */
const singularOf = ({ option, form: { isList } }: Leaf): string | undefined =>
  isList && option.endsWith('s') ? option.slice(0, -1) : undefined

function meaningOf(leaf: Leaf): string {
  const { option, meaning, spec, isNew } = leaf
  const { values = [] } = spec.items ?? spec
  const isListed = isFlag(leaf) || values.every((value) => meaning.includes(value))
  return [
    meaning,
    ...(isListed ? [] : [` (${values.join(', ')})`]),
    ...(!isNew && isFlag(leaf) ? [`, or --no-${option}`] : []),
    ...(!isNew && !isFlag(leaf) && isClearable(leaf) ? ['; none clears it'] : []),
    ...(leaf.isRequired ? [' (required)'] : []),
  ].join('')
}

function optionsOf(leaf: Leaf): readonly CommandOption[] {
  const { option, value } = leaf
  const meaning = meaningOf(leaf)
  if (isFlag(leaf))
    return [
      [`--${option}`, meaning],
      [`--no-${option}`, '', 'hidden'],
    ]
  const singular = singularOf(leaf)
  return [
    [`--${option} ${value}`, meaning],
    ...(singular ? [[`--${singular} ${value}`, '', 'hidden'] as const] : []),
  ]
}

/** Returns the name by which commander has an option. */
const camelCase = (option: string): string =>
  option.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

const flagJson = ({ values }: MemberSpec, isOn: boolean): unknown =>
  values ? (isOn ? values[0] : null) : isOn

/** Returns the JSON of a member; undefined: the command line lacks it. */
function jsonOf(leaf: Leaf, { options }: Pick<Input, 'options'>): unknown {
  const { option, form, spec } = leaf
  const names = [option, singularOf(leaf) ?? []].flat()
  const given = names.flatMap((name) => options[camelCase(name)] ?? [])
  const [first] = given
  if (first === undefined) return undefined
  if (typeof first === 'boolean') return flagJson(spec, first)
  const isNone = first === 'none' || (form === forms.instant && first === 'never')
  if (isNone && isClearable(leaf)) return spec.nullable ? null : []
  return form.read((form.isList ? given : first) as never, `--${option}`)
}

/** Returns the values of the members that the command line has. */
function valuesOf(nodes: readonly OptionNode[], input: Pick<Input, 'options'>): BodyJson {
  const members = nodes.map((node): [string, unknown] => {
    if (!('nodes' in node)) return [node.name, jsonOf(node, input)]
    const inner = valuesOf(node.nodes, input)
    if (Object.keys(inner).length === 0) return [node.name, undefined]
    return [node.name, node.isList ? [inner] : inner]
  })
  return Object.fromEntries(members.filter(([, value]) => value !== undefined))
}

/** The body of a command line. */
export interface BodyDraft {
  readonly isEmpty: boolean
  /** The options of required members with values of the service that the command line lacks. */
  readonly missing: readonly string[]
  /** Returns the JSON at the time of the service. */
  readonly at: (nowMs: () => Promise<number>) => Promise<BodyJson>
}

export interface BodyOptions {
  readonly options: readonly CommandOption[]
  /** Reads a command line. Throws `UsageError`. */
  readonly read: (input: Pick<Input, 'options'>) => BodyDraft
  /** Returns the option of the member at a pointer. */
  readonly optionAt: (pointer: string) => string | undefined
}

async function resolveSpans(json: BodyJson, now: () => Promise<number>): Promise<BodyJson> {
  const entries = Object.entries(json).map(
    async ([name, value]) =>
      [name, value instanceof Span ? value.from(await now()) : value] as const,
  )
  return Object.fromEntries(await Promise.all(entries))
}

/**
 * Returns the options of a body.
 *
 * @param isChange - whether an omitted member stays as it is
 */
export function bodyOptions(
  members: Members,
  bodyWords: BodyWords = {},
  isChange = false,
): BodyOptions {
  const nodes = nodesOf(specsOf(members), bodyWords, !isChange)
  const leaves = leavesOf(nodes)
  const required = leaves.filter(({ isRequired }) => isRequired)
  return {
    options: leaves.flatMap(optionsOf),
    read(input) {
      const json = valuesOf(nodes, input)
      const missing = required.filter((leaf) => jsonOf(leaf, input) === undefined)
      const options = missing
        .filter((leaf) => !isDeclared(leaf))
        .map(({ option, value }) => `--${option} ${value}`)
      if (options.length > 0) throw new UsageError(`Missing: ${options.join(', ')}.`)
      return {
        isEmpty: Object.keys(json).length === 0,
        missing: missing.map(({ option }) => `--${option}`),
        at: (now) => resolveSpans(json, now),
      }
    },
    optionAt(pointer) {
      const names = pointer.split('/').slice(1)
      const leaf = leaves.find(({ name }) => names.includes(name))
      return leaf && `--${leaf.option}`
    },
  }
}
