/** The facts of an object: labels with their values. */
import { type ComponentChildren, Fragment } from 'preact'

/** A fact: its label and its value; undefined: the row lacks it. */
export type Fact =
  | readonly [label: string, value: ComponentChildren, style?: 'mono' | 'mono small' | undefined]
  | undefined

export const Facts = ({ of }: { readonly of: readonly Fact[] }) => (
  <dl class="kv">
    {of.map(
      (fact) =>
        fact && (
          <Fragment key={fact[0]}>
            <dt>{fact[0]}</dt>
            <dd class={fact[2]}>{fact[1]}</dd>
          </Fragment>
        ),
    )}
  </dl>
)
