/** `JUDGES=go,alerts` selects tools by name; without it all run. */
const names = process.env.JUDGES?.split(',')

export const isSelected = (name: string): boolean => names?.includes(name) ?? true
