/** All commands, in the order of `--help`. */
import { audit } from './audit.ts'
import { backup, restore } from './backup.ts'
import { checkCommand } from './check.ts'
import { clients } from './clients.ts'
import { clock } from './clock.ts'
import type { CommandFamily, CommandSpec } from './command.ts'
import { config } from './config.ts'
import { customers } from './customers.ts'
import { dev } from './dev.ts'
import { doctor } from './doctor.ts'
import { events } from './events.ts'
import { init } from './init.ts'
import { keys } from './keys.ts'
import { listen } from './listen.ts'
import { migrate, seed } from './migrate.ts'
import { move } from './move.ts'
import { openapi } from './openapi.ts'
import { operators } from './operators.ts'
import { secrets } from './secrets.ts'
import { start } from './start.ts'
import { triggerCommand } from './trigger.ts'
import { people } from './users.ts'
import { versions } from './versions.ts'
import { webhooks } from './webhooks.ts'

export const commands: readonly (CommandSpec | CommandFamily)[] = [
  start,
  dev,
  init,
  migrate,
  seed,
  config,
  doctor,
  keys,
  clients,
  customers,
  people,
  operators,
  secrets,
  webhooks,
  events,
  listen,
  triggerCommand,
  versions,
  openapi,
  checkCommand,
  audit,
  backup,
  restore,
  move,
  clock,
]
