/**
 * The stylesheet of pages without scripts: light and dark, from a width of 320 px. Sizes are in
 * rem, so that they follow the font size of the reader.
 */
export const style = `
:root {
  color-scheme: light dark;
  --ground: #f5f6f8; --paper: #ffffff; --edge: #dfe3e8; --line: #7d8793;
  --ink: #1a1f26; --soft: #555f6b; --accent: #0b5cad; --accent-ink: #ffffff;
  --bad: #9b1c1c; --bad-ground: #fdf1f0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12151a; --paper: #1b2027; --edge: #2e353f; --line: #7c8794;
    --ink: #eceff3; --soft: #a9b3be; --accent: #84bdf7; --accent-ink: #0c1a29;
    --bad: #ffb8b3; --bad-ground: #3a2123;
  }
}
* { box-sizing: border-box; }
body {
  max-width: 27rem; margin: 0 auto; padding: clamp(1.5rem, 10vh, 6rem) min(1rem, 4vw) 2rem;
  background: var(--ground); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.5 system-ui, sans-serif;
}
header { padding: 0 .25rem; font-weight: 600; }
header p { margin: 0 0 .75rem; }
main {
  padding: min(2rem, 6vw); background: var(--paper);
  border: 1px solid var(--edge); border-radius: .75rem;
}
h1 { margin: 0 0 .5rem; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 0 0 .5rem; font-size: 1rem; }
p { margin: 0 0 1.25rem; }
main > :last-child { margin-bottom: 0; }
ul { margin: 0 0 1.25rem; padding: 0; border-top: 1px solid var(--edge); list-style: none; }
li { padding: .5rem 0; border-bottom: 1px solid var(--edge); }
.soft { color: var(--soft); font-size: .875rem; }
.badge {
  display: inline-block; padding: 0 .5rem; font-size: .875rem; color: var(--soft);
  border: 1px solid var(--line); border-radius: 1rem;
}
.notice {
  padding: .75rem min(1rem, 4vw); color: var(--bad); background: var(--bad-ground);
  border: 1px solid var(--bad); border-radius: .5rem;
}
label { display: block; margin: 0 0 .25rem; font-weight: 600; }
input, select {
  width: 100%; min-height: 2.75rem; margin: 0 0 1rem; padding: .5rem .75rem;
  font: inherit; color: inherit; background: var(--paper);
  border: 1px solid var(--line); border-radius: .5rem;
}
button {
  display: block; width: 100%; min-height: 2.75rem; margin: .5rem 0 .75rem;
  padding: .5rem min(1rem, 4vw);
  font: inherit; font-weight: 600; color: var(--accent-ink); background: var(--accent);
  border: 1px solid var(--accent); border-radius: .5rem; cursor: pointer;
}
button.second { color: var(--ink); background: var(--paper); border-color: var(--line); }
button:last-child { margin-bottom: 0; }
button.link {
  color: var(--accent); background: none; border-color: transparent; text-decoration: underline;
}
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`
