/** The database of Gatehook's contenders in this run: `--database postgres` selects PostgreSQL. */
export type DatabaseName = 'sqlite' | 'postgres'

let selected: DatabaseName = 'sqlite'

/** To be called before the rows are imported. */
export function selectDatabase(name: DatabaseName): void {
  selected = name
}

export const selectedDatabase = (): DatabaseName => selected
