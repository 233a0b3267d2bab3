// The page works without this. It adds a button that copies to each block of code, and lets all samples follow one choice of language.
for (const block of document.querySelectorAll('.code')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    const copied = await navigator.clipboard.writeText(block.querySelector('pre').textContent).then(
      () => true,
      () => select(block.querySelector('pre')),
    )
    button.textContent = copied ? 'Copied' : 'Press Ctrl-C'
    setTimeout(() => (button.textContent = 'Copy'), 2000)
  })
  block.append(button)
}

/** Where a page may not write to the clipboard (plain http of another machine): the text is selected for the reader to copy. */
function select(pre) {
  getSelection().selectAllChildren(pre)
  return false
}

document.addEventListener('change', ({ target }) => {
  if (target.name?.endsWith('-language')) {
    const before = target.getBoundingClientRect().top
    for (const one of document.querySelectorAll(`input[value="${target.value}"]`)) one.checked = true
    // Samples above have changed their height: what is read stays where it is.
    scrollBy({ top: target.getBoundingClientRect().top - before, behavior: 'instant' })
  }
})

/** A link to an error opens its text. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (target instanceof HTMLDetailsElement) target.open = true
}
addEventListener('hashchange', openTarget)
openTarget()

const links = new Map([...document.querySelectorAll('nav li a')].map((link) => [link.hash.slice(1), link]))
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) if (isIntersecting) mark(links.get(target.id))
  },
  { rootMargin: '-15% 0px -80% 0px' },
)
function mark(link) {
  for (const one of links.values()) one.removeAttribute('aria-current')
  link?.setAttribute('aria-current', 'true')
  // On a phone the contents are one line that scrolls.
  if (link) document.querySelector('nav').scrollLeft = link.offsetLeft - 16
}
for (const section of document.querySelectorAll('main > section')) watcher.observe(section)
