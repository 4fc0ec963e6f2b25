// Asks for a token, and says who is logged in.
import {useState} from 'preact/hooks';
import {logIn, logOut} from '../login.js';

export function Login() {
  const [token, setToken] = useState('');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await logIn(token.trim());
    } catch (e) {
      setError(e.status === 401 ? 'This token is not good: it may have ended, been taken back, or not be whole.' : e.message);
      setBusy(false);
    }
  };
  return <form class="login" onSubmit={submit}>
    <h1>Log in</h1>
    <p>This collector asks who you are. An administrator makes a token on its host:<br/>
      <code>fleetmark-collector token create NAME</code></p>
    <label>Token <input type="password" name="token" autocomplete="current-password" required autofocus value={token}
      onInput={(e) => setToken(e.currentTarget.value)}/></label>
    <p role="alert" class="bad">{error}</p>
    <button type="submit" disabled={busy}>Log in</button>
  </form>;
}

export function Who({who}) {
  if (!who?.asked || !who.name) return null;
  return <button type="button" class="quiet" title={`${who.name}, ${who.role}: log out`} onClick={logOut}>{who.name} ⏏</button>;
}
