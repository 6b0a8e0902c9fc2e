require('./driver.js')(async (page, assert) => {
  const number = async id => Number((await page.textContent(id)).replace(/\D/g, ''));
  await page.waitForFunction(() => Number(document.getElementById('executions').textContent.replace(/\D/g, '')) > 0);
  const first = await number('#executions');
  await page.waitForFunction(first => Number(document.getElementById('executions').textContent.replace(/\D/g, '')) > first, first);
  assert.match(await page.textContent('#title'), /long/);
  await page.waitForSelector('#findings li.error');
  assert.match(await page.textContent('#findings li'), /r1: data race on `racy`/);
  assert.ok(await number('#rate') > 0);
});
