/** `gatehook clock`: reads the test clock and sets it forward (§12.6). */

import type { ClockState } from '../operate/system/clock.ts'
import { ConfigError } from '../platform/config/config.ts'
import { ApiError, administration } from './api.ts'
import { parseDuration } from './arguments.ts'
import type { CommandSpec, Input } from './command.ts'
import { UsageError } from './errors.ts'
import { bold, dim } from './output.ts'

/** Returns the body of `POST /admin/clock`; undefined to read the clock only. */
function clockChange(args: Input['args'], frozen: unknown): Record<string, unknown> | undefined {
  const [action, value] = args
  const freeze = frozen === undefined ? {} : { freeze: frozen }
  if (action === undefined) return frozen === undefined ? undefined : { advance_s: 0, ...freeze }
  if (value === undefined) {
    throw new UsageError('Name a span or an instant: clock advance 30d, clock set 2027-01-31')
  }
  if (action === 'set') return { now: value, ...freeze }
  if (action !== 'advance') {
    throw new UsageError(`"${action}" is not an action; the clock takes advance and set.`)
  }
  const spanS = parseDuration(value)
  if (spanS === undefined) {
    throw new UsageError(`"${value}" is no span of time; expected one such as 30d, 12h or 90s.`)
  }
  return { advance_s: spanS, ...freeze }
}

export const clock: CommandSpec = administration.action({
  name: 'clock [ACTION] [VALUE]',
  summary: 'the test clock: read it, set it forward',
  description:
    'Prints the time of a service that runs with GATEHOOK_TEST_CLOCK=1, or sets it forward. ' +
    'Running nodes follow within a second.',
  options: [
    ['--freeze', 'stop the clock after the change'],
    ['--no-freeze', 'let the clock run after the change'],
  ],
  config: ['testClock', 'databaseUrl'],
  examples: [
    ['gatehook clock --test-clock', 'the time of the service'],
    ['gatehook clock advance 30d', 'jumps a month ahead'],
    ['gatehook clock set 2027-01-31T12:00:00Z --freeze', 'jumps there and stops'],
  ],
  parse: ({ args, options: { freeze } }) => clockChange(args, freeze),
  async act(api, _input, change) {
    try {
      return await api.request<ClockState>(change ? 'POST' : 'GET', '/admin/clock', change)
    } catch (error) {
      if (!(error instanceof ApiError) || error.response.status !== 404) throw error
      throw new ConfigError([
        'GATEHOOK_TEST_CLOCK is not 1, so the clock is the machine’s. Set it to 1 where the ' +
          'service runs and here.',
      ])
    }
  },
  describe: ({ now, frozen }) => `${bold(now)}${frozen ? dim(' (frozen)') : ''}`,
})
