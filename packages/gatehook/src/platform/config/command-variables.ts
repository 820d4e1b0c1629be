/** The variables of the environment that are no options of the service. */

/** Variables that only commands read; the service accepts and ignores them. */
export const commandVariables: readonly (readonly [name: string, sentence: string])[] = [
  [
    'GATEHOOK_API_KEY',
    'The key of commands with `--url`. `webhooks`, `events`, `trigger`, `listen` always use it.',
  ],
  ['GATEHOOK_URL', 'The address of a service for your own clients: no command reads it.'],
  ['GATEHOOK_KEY', 'A key of your own applications: no command reads it.'],
  ['GATEHOOK_MOVE_TO', 'The database to which `gatehook move` moves, without `--to`.'],
]
