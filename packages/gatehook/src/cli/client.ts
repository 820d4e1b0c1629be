/** `gatehook client types`: the types of the API for gatehook-client (§15.11). */
import { clientCode } from '../declare/resources/client-code.ts'
import type { CommandFamily, Input } from './command.ts'
import { UsageError } from './errors.ts'
import { installationOptions } from './installation.ts'
import { catalogOf, writeResult } from './openapi.ts'
import { serviceOf } from './service-file.ts'

async function run(input: Input): Promise<undefined> {
  const { definition } = await serviceOf(input)
  const catalog = catalogOf(definition)
  const version = String(input.options.version ?? catalog.newest)
  if (!catalog.versions.includes(version)) {
    throw new UsageError(
      `There is no version ${version}; there are ${catalog.versions.join(', ')}.`,
    )
  }
  writeResult(input, clientCode(catalog, version))
}

export const client: CommandFamily = {
  name: 'client',
  summary: 'types for the programs that call the API',
  commands: [
    {
      name: 'types',
      summary: 'the types of a version for gatehook-client',
      description:
        'Prints a module with the types of the API: `createClient<Types>` of gatehook-client. ' +
        'Uses no database and no port.',
      options: [
        ...installationOptions,
        ['--version <VERSION>', 'which version (default: the newest)'],
        ['--out <FILE>', 'write the module to this file'],
      ],
      examples: [
        ['gatehook client types --out api.ts', 'for programs without the declaration'],
        ['gatehook client types --version v1 --out api-v1.ts', 'for an older version'],
      ],
      run,
    },
  ],
}
