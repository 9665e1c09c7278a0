import './card.css';
import './code.css';
import './squiggles.css';
