/** `gatehook forward import`: routes from the OpenAPI document of another service (§17.5). */
import { existsSync, readFileSync } from 'node:fs'
import { isUpstreamName } from '../declare/resources/forward-check.ts'
import { isPlainObject } from '../protocol/fields/reading.ts'
import type { CommandFamily, Input } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import {
  countRoutes,
  forwardModule,
  functionName,
  generateForwards,
  mergeForwards,
} from './forward-code.ts'
import type { JsonMap } from './forward-fields.ts'
import { writeFile } from './openapi.ts'
import { bold } from './output.ts'

function readDocument(file: string): JsonMap {
  if (!existsSync(file)) throw new UsageError(`There is no file ${file}.`)
  let document: unknown
  try {
    document = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    throw new CommandError(`${file} is not JSON. A document in YAML has to be converted first.`)
  }
  if (isPlainObject(document) && /^3\.[01]/.test(String(document.openapi))) return document
  throw new CommandError(`${file} is not an OpenAPI document of version 3.0 or 3.1.`)
}

function run({ args, options, out }: Input): undefined {
  const [source] = args
  const { to, out: target } = options
  if (typeof to !== 'string' || !isUpstreamName(to)) {
    throw new UsageError('--to names the upstream, for example --to billing.')
  }
  if (typeof target !== 'string') throw new UsageError('--out names the file to write.')
  const { blocks, skipped } = generateForwards(readDocument(String(source)), to)
  const earlier = existsSync(target) ? readFileSync(target, 'utf8') : undefined
  const merged = earlier === undefined ? undefined : mergeForwards(earlier, blocks)
  if (earlier !== undefined && !merged) {
    throw new CommandError(
      `${target} lacks the lines "// openapi: end of …" of an import. Name another file in --out.`,
    )
  }
  const text = merged?.text ?? forwardModule(to, blocks, /\.[cm]?ts$/.test(target))
  writeFile(target, text)
  const differences = merged?.differences ?? []
  const routes = countRoutes(text)
  out.result({ file: target, function: functionName(to), routes, differences, skipped }, () =>
    [
      `Wrote ${bold(target)}: ${functionName(to)}(api) with ${routes} operations.`,
      ...(merged && differences.length === 0 ? ['The document has not changed.'] : differences),
      ...skipped.map((line) => `Skipped ${line}.`),
    ].join('\n'),
  )
}

export const forward: CommandFamily = {
  name: 'forward',
  summary: 'routes that an application in another language answers',
  commands: [
    {
      name: 'import <DOCUMENT>',
      summary: 'write routes from an OpenAPI document',
      description:
        'Writes a module with a route for each operation of an OpenAPI document (JSON, 3.0 or ' +
        '3.1). Run again, it retains edited parts and prints the changes of the document.',
      options: [
        ['--to <NAME>', 'the upstream that answers, and the name of the function'],
        ['--out <FILE>', 'the module to write'],
      ],
      examples: [
        ['gatehook forward import openapi.json --to billing --out billing.ts', 'a first import'],
      ],
      run,
    },
  ],
}
