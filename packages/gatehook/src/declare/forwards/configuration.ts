/** The upstreams of a service with the values of their variables (§17.5). Pure. */

import { ConfigError } from '../../platform/config/config.ts'
import { findUrlMistake, isHeaderText } from '../resources/forward-check.ts'
import {
  type ConfiguredText,
  EnvironmentValue,
  type UpstreamDefinition,
} from '../resources/upstream.ts'

export interface ConfiguredUpstream {
  readonly name: string
  readonly origin: string
  /** The path of its `url` without a final slash; '' for the root. */
  readonly basePath: string
  readonly timeoutMs: number
  /** Headers of each request. */
  readonly set: Readonly<Record<string, string>>
}

export type ReadVariable = (name: string) => string | undefined

/** A variable of the declaration, for `gatehook config`. */
export interface UpstreamVariable {
  readonly variable: string
  readonly isSecret: boolean
}

/** Returns the variables that upstreams name. */
export const variablesOf = (upstreams: readonly UpstreamDefinition[]): UpstreamVariable[] =>
  upstreams.flatMap(({ url, set }) => [
    ...variableOf(url, false),
    ...Object.values(set).flatMap((text) => variableOf(text, true)),
  ])

const variableOf = (text: ConfiguredText, isSecret: boolean): UpstreamVariable[] =>
  text instanceof EnvironmentValue ? [{ variable: text.variable, isSecret }] : []

/** Returns the upstreams by name. Throws `ConfigError` with a sentence per mistake. */
export function configureUpstreams(
  definitions: readonly UpstreamDefinition[],
  read: ReadVariable,
): ReadonlyMap<string, ConfiguredUpstream> {
  const mistakes: string[] = []
  const textOf = (
    text: ConfiguredText,
    name: string,
    find: (text: string) => string | undefined,
  ) => {
    if (!(text instanceof EnvironmentValue)) return text
    const { variable } = text
    const value = read(variable)
    const mistake = value === undefined ? `is not set; the upstream ${name} needs it` : find(value)
    if (mistake !== undefined) mistakes.push(`${variable} ${mistake}.`)
    return value ?? ''
  }
  const texts = definitions.map(({ name, url, timeoutMs, set }) => ({
    name,
    timeoutMs,
    url: textOf(url, name, findUrlMistake),
    set: Object.fromEntries(
      Object.entries(set).map(([header, text]) => [header, textOf(text, name, headerMistake)]),
    ),
  }))
  if (mistakes.length > 0) throw new ConfigError([...new Set(mistakes)])
  return new Map(
    texts.map(({ url, ...rest }) => {
      const { origin, pathname } = new URL(url)
      return [
        rest.name,
        { ...rest, origin, basePath: pathname.endsWith('/') ? pathname.slice(0, -1) : pathname },
      ]
    }),
  )
}

const headerMistake = (text: string): string | undefined =>
  isHeaderText(text) ? undefined : 'has a character that no header can have'
