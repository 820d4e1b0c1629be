/** The steps of one request in their order, and the step that rejected it. */
import type { ComponentChildren } from 'preact'

export interface Gate {
  readonly name: string
  readonly outcome: 'passed' | 'refused' | 'not_reached'
  /** The words of a step; undefined: only its name. */
  readonly sentence?: ComponentChildren
}

interface GatesProps {
  readonly gates: readonly Gate[]
  /** Advice under the steps. */
  readonly children?: ComponentChildren
}

const LANE = { passed: undefined, refused: 'shut', not_reached: 'not' } as const

export function Gates({ gates, children }: GatesProps) {
  const reached = gates.filter(({ outcome }) => outcome !== 'not_reached')
  const rest = gates.filter(({ outcome }) => outcome === 'not_reached')
  const isRefused = gates.some(({ outcome }) => outcome === 'refused')
  return (
    <div class="gates">
      <div class="lane" aria-hidden="true">
        {gates.map(({ name, outcome }) => (
          <i key={name} class={LANE[outcome]} />
        ))}
      </div>
      {isRefused && (
        <ol>
          {reached.map(({ name, outcome, sentence }) => (
            <li key={name} class={LANE[outcome]}>
              <b>
                {name}
                <span class="vh">{outcome === 'passed' ? ': passed' : ': rejected'}</span>
              </b>
              <span>{sentence}</span>
            </li>
          ))}
          {rest.length > 0 && (
            <li class="not">
              <b>Not reached</b>
              <span>{rest.map(({ name }) => name.toLowerCase()).join(', ')}</span>
            </li>
          )}
        </ol>
      )}
      {children && <div class="cure">{children}</div>}
    </div>
  )
}
