/** The test clock, if `GATEHOOK_TEST_CLOCK=1` enables it. */
import { send } from '../../api.ts'
import { instant } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Failed } from '../../parts/notices.tsx'
import { State } from '../../parts/state.tsx'
import { useSend } from '../../use-send.ts'
import { mayChange } from '../session.ts'

interface ClockState {
  readonly now: string
  readonly frozen: boolean
}

const PATH = '/admin/clock'
const DAY_S = 86_400
const STEPS = [
  ['+ 1 h', 3600],
  ['+ 1 d', DAY_S],
  ['+ 30 d', 30 * DAY_S],
] as const

export function TestClock({ onChange }: { readonly onChange: () => void }) {
  const clock = useLoaded<ClockState>(PATH, { everyMs: 5000 })
  const { isBusy, failure, run } = useSend()
  if (!clock.data) return null
  const { now, frozen } = clock.data
  const set = (body: unknown) =>
    run(async () => {
      clock.put((await send<ClockState>('POST', PATH, { body })).body)
      onChange()
    })
  return (
    <section class="section" aria-labelledby="clock">
      <h2 id="clock">Test clock</h2>
      <p class="small">
        <time dateTime={now}>{instant(now)}</time>{' '}
        <State tone={frozen ? 'hold' : 'ok'}>{frozen ? 'Frozen' : 'Runs'}</State>
      </p>
      {mayChange('administrator') && (
        <div class="bar">
          {STEPS.map(([label, seconds]) => (
            <Button
              key={label}
              size="tiny"
              disabled={isBusy}
              onClick={() => set({ advance_s: seconds })}
            >
              {label}
            </Button>
          ))}
          <Button
            size="tiny"
            disabled={isBusy}
            onClick={() => set({ advance_s: 0, freeze: !frozen })}
          >
            {frozen ? 'Resume' : 'Freeze'}
          </Button>
          <a class="small" href="/console/events?mode=test">
            Events that followed
          </a>
        </div>
      )}
      {failure && <Failed failure={failure} />}
    </section>
  )
}
