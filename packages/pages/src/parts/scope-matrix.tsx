/** Scopes as a matrix: collections with read and write; other scopes as a list below. */
import { Check } from './field.tsx'

interface ScopeMatrixProps {
  /** Every scope that can be selected, with its words. */
  readonly scopes: readonly { readonly name: string; readonly words?: string }[]
  readonly selected: ReadonlySet<string>
  readonly onChange: (selected: ReadonlySet<string>) => void
  readonly legend?: string
}

export function ScopeMatrix({ scopes, selected, onChange, legend = 'Scopes' }: ScopeMatrixProps) {
  const names = new Set(scopes.map(({ name }) => name))
  const collections = [...names]
    .filter((name) => name.endsWith(':read') || name.endsWith(':write'))
    .map((name) => name.slice(0, name.lastIndexOf(':')))
  const rows = [...new Set(collections)].sort()
  const inRows = new Set(rows.flatMap((row) => [`${row}:read`, `${row}:write`]))
  const rest = scopes.filter(({ name }) => !inRows.has(name))
  const set = (name: string, isOn: boolean) => {
    const next = new Set(selected)
    if (isOn) next.add(name)
    else next.delete(name)
    onChange(next)
  }
  const box = (name: string) =>
    names.has(name) && (
      <input
        type="checkbox"
        aria-label={name}
        checked={selected.has(name)}
        onChange={(event) => set(name, event.currentTarget.checked)}
      />
    )
  return (
    <fieldset>
      <legend class="label">{legend}</legend>
      <table>
        <thead>
          <tr>
            <th scope="col">Collection</th>
            <th scope="col">Read</th>
            <th scope="col">Write</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row}>
              <th scope="row">{row}</th>
              <td>{box(`${row}:read`)}</td>
              <td>{box(`${row}:write`)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rest.map(({ name, words }) => (
        <Check
          key={name}
          checked={selected.has(name)}
          onChange={(isOn) => set(name, isOn)}
          label={
            <>
              <code>{name}</code> {words && <span class="soft">{words}</span>}
            </>
          }
        />
      ))}
    </fieldset>
  )
}
