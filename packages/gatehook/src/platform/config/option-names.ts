/** Names of variables that are no options: a mistake, or of another program. Pure. */
import { findClosest } from '../../kernel/closest.ts'
import { commandVariables } from './command-variables.ts'
import { optionList } from './options.ts'

/** `gatehook_port` and `GATEHOK_PORT`: the rest is an option, and another program has none such. */
function misspelledPrefix(name: string, optionNames: readonly string[]): string | undefined {
  const [, stem = '', rest = ''] = /^(GATE[A-Z]*)_(.+)$/.exec(name.toUpperCase()) ?? []
  const isClose = findClosest(stem, ['GATEHOOK']) !== undefined
  return isClose && optionNames.includes(rest) ? rest : undefined
}

/**
 * Reports unknown names. A name close to an option is a mistake; others may belong to another
 * program (`GATEHOOK_URL` of a client).
 */
export function checkNames(env: object, mistakes: string[], warnings: string[]): void {
  const prefix = 'GATEHOOK_'
  const optionNames = optionList
    .filter(([, option]) => option.env.startsWith(prefix))
    .map(([, option]) => option.env.slice(prefix.length))
  for (const name of Object.keys(env)) {
    if (!name.startsWith(prefix)) {
      const meant = misspelledPrefix(name, optionNames)
      if (meant) warnings.push(`${name} is set. Did you mean ${prefix}${meant}? It is ignored.`)
      continue
    }
    const rest = name.slice(prefix.length)
    if (optionNames.includes(rest)) continue
    if (commandVariables.some(([variable]) => variable === name)) continue
    const suggestion = findClosest(rest, optionNames)
    if (suggestion) mistakes.push(`${name} is not an option. Did you mean ${prefix}${suggestion}?`)
    else warnings.push(`${name} is set, but is not an option; it is ignored.`)
  }
}
