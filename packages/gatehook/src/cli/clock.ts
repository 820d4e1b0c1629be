/** `gatehook clock`: the test clock (§12.6), read and set forward. */
import { ConfigError } from '../config/config.ts'
import type { CommandSpec, Input } from './command.ts'
import { parseDuration } from './duration.ts'
import { cliActor, engine } from './engine.ts'

import { UsageError } from './mistake.ts'
import { bold, dim } from './output.ts'

/** What `POST /admin/clock` would get; undefined: the clock is only read. */
function wishOf(args: Input['args'], frozen: unknown): Record<string, unknown> | undefined {
  const [action, value] = args
  const freeze = frozen === undefined ? {} : { freeze: frozen }
  if (action === undefined) return frozen === undefined ? undefined : { advance_s: 0, ...freeze }
  if (value === undefined) {
    throw new UsageError('Say how far or where to: clock advance 30d, clock set 2027-01-31')
  }
  if (action === 'set') return { now: value, ...freeze }
  if (action !== 'advance') {
    throw new UsageError(`"${action}" is not known; the clock takes advance and set.`)
  }
  const spanS = parseDuration(value)
  if (spanS === undefined) {
    throw new UsageError(`"${value}" is no span of time; expected one such as 30d, 12h or 90s.`)
  }
  return { advance_s: spanS, ...freeze }
}

export const clock: CommandSpec = engine.act({
  name: 'clock [ACTION] [VALUE]',
  summary: 'the test clock: read it, set it forward',
  description:
    'Shows the time of a service that runs with GATEHOOK_TEST_CLOCK=1, or sets it forward. ' +
    'Running nodes follow within a second.',
  options: [
    ['--freeze', 'time then stands still'],
    ['--no-freeze', 'time then runs on'],
  ],
  config: ['testClock', 'databaseUrl'],
  examples: [
    ['gatehook clock --test-clock', 'what time the service has'],
    ['gatehook clock advance 30d', 'jumps a month ahead'],
    ['gatehook clock set 2027-01-31T12:00:00Z --freeze', 'jumps there and stands'],
  ],
  act({ args, options: { freeze } }) {
    const wish = wishOf(args, freeze)
    return ({ clock }) => {
      if (clock) return wish ? clock.set(wish, cliActor()) : clock.state()
      throw new ConfigError([
        'GATEHOOK_TEST_CLOCK is not 1, so the clock is the machine’s. Set it to 1 where the ' +
          'service runs and here.',
      ])
    }
  },
  said: ({ now, frozen }) => `${bold(now)}${frozen ? dim(' (frozen)') : ''}`,
})
